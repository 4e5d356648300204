/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of the numbers in a management datagram, as the tools of infiniband-diags print and compare them. Never NULL. */
#include "verbs/symbol.h"

#include <infiniband/umad_str.h>
#include <infiniband/umad_types.h>

#include <endian.h>
#include <stddef.h>

struct text {
	uint16_t code;
	const char *text;
};

static const struct text classes[] = {
	{ 0x01, "Subn" },
	{ 0x81, "Subn" },
	{ 0x03, "SubnAdm" },
	{ 0x04, "Perf" },
	{ 0x05, "BM" },
	{ 0x06, "DevMgt" },
	{ 0x07, "ComMgt" },
	{ 0x08, "SNMP" },
	{ 0x10, "DevAdm" },
	{ 0x11, "BootMgt" },
	{ 0x12, "BIS" },
	{ 0x21, "CongestionManagment" },
	{ 0, NULL },
};

static const struct text methods[] = {
	{ 0x01, "Get" },
	{ 0x02, "Set" },
	{ 0x03, "Send" },
	{ 0x05, "Trap" },
	{ 0x06, "Report" },
	{ 0x07, "TrapRepress" },
	{ 0x81, "GetResp" },
	{ 0x86, "ReportResp" },
	{ 0, NULL },
};

static const struct text sa_methods[] = {
	{ 0x12, "GetTable" },
	{ 0x13, "GetTraceTable" },
	{ 0x14, "GetMulti" },
	{ 0x15, "Delete" },
	{ 0x92, "GetTableResp" },
	{ 0x94, "GetMultiResp" },
	{ 0x95, "DeleteResp" },
	{ 0, NULL },
};

static const struct text common_attributes[] = {
	{ 0x0001, "Class Port Info" },
	{ 0x0002, "Notice" },
	{ 0x0003, "Inform Info" },
	{ 0, NULL },
};

static const struct text subnet_attributes[] = {
	{ 0x0010, "NodeDescription" },
	{ 0x0011, "NodeInfo" },
	{ 0x0012, "SwitchInfo" },
	{ 0x0014, "GUIDInfo" },
	{ 0x0015, "PortInfo" },
	{ 0x0016, "P_KeyTable" },
	{ 0x0017, "SLtoVLMappingTable" },
	{ 0x0018, "VLArbitrationTable" },
	{ 0x0019, "LinearForwardingTable" },
	{ 0x001a, "RandomForwardingTable" },
	{ 0x001b, "MulticastForwardingTable" },
	{ 0x001c, "LinkSpeedWidthPairsTable" },
	{ 0x001d, "VendorSpecificMadsTable" },
	{ 0x001e, "HierarchyInfo" },
	{ 0x0020, "SMInfo" },
	{ 0x0030, "VendorDiag" },
	{ 0x0031, "LedInfo" },
	{ 0x0032, "CableInfo" },
	{ 0x0033, "PortInfoExtended" },
	{ 0, NULL },
};

static const struct text sa_attributes[] = {
	{ 0x0011, "NodeRecord" },
	{ 0x0012, "PortInfoRecord" },
	{ 0x0013, "SLtoVLMappingTableRecord" },
	{ 0x0014, "SwitchInfoRecord" },
	{ 0x0015, "LinearForwardingTableRecord" },
	{ 0x0016, "RandomForwardingTableRecord" },
	{ 0x0017, "MulticastForwardingTableRecord" },
	{ 0x0018, "SMInfoRecord" },
	{ 0x0019, "LinkSpeedWidthPairsTableRecord" },
	{ 0x0020, "LinkRecord" },
	{ 0x0030, "GuidInfoRecord" },
	{ 0x0031, "ServiceRecord" },
	{ 0x0033, "P_KeyTableRecord" },
	{ 0x0035, "PathRecord" },
	{ 0x0036, "VLArbitrationTableRecord" },
	{ 0x0038, "MCMemberRecord" },
	{ 0x0039, "TraceRecord" },
	{ 0x003a, "MultiPathRecord" },
	{ 0x003b, "ServiceAssociationRecord" },
	{ 0x003c, "HierarchyInfoRecord" },
	{ 0x003d, "CableInfoRecord" },
	{ 0x003e, "PortInfoExtendedRecord" },
	{ 0x00f3, "InformInfoRecord" },
	{ 0, NULL },
};

static const struct text cm_attributes[] = {
	{ 0x0010, "ConnectRequest" },
	{ 0x0011, "MsgRcptAck" },
	{ 0x0012, "ConnectReject" },
	{ 0x0013, "ConnectReply" },
	{ 0x0014, "ReadyToUse" },
	{ 0x0015, "DisconnectRequest" },
	{ 0x0016, "DisconnectReply" },
	{ 0x0017, "ServiceIDResReq" },
	{ 0x0018, "ServiceIDResReqResp" },
	{ 0x0019, "LoadAlternatePath" },
	{ 0x001a, "AlternatePathResponse" },
	{ 0x001b, "SuggestAlternatePath" },
	{ 0x001c, "SuggestPathResponse" },
	{ 0, NULL },
};

static const char *find(const struct text *table, uint16_t code)
{
	for (; table->text != NULL; table++)
		if (table->code == code)
			return table->text;
	return NULL;
}

VERBS_PUBLIC const char *umad_class_str(uint8_t mgmt_class)
{
	const char *text = find(classes, mgmt_class);

	if (text != NULL)
		return text;
	if ((mgmt_class >= UMAD_CLASS_VENDOR_RANGE1_START && mgmt_class <= UMAD_CLASS_VENDOR_RANGE1_END) ||
	    (mgmt_class >= UMAD_CLASS_VENDOR_RANGE2_START && mgmt_class <= UMAD_CLASS_VENDOR_RANGE2_END))
		return "Vendor";
	if (mgmt_class >= UMAD_CLASS_APPLICATION_START && mgmt_class <= UMAD_CLASS_APPLICATION_END)
		return "Application";
	return "<unknown>";
}

VERBS_PUBLIC const char *umad_method_str(uint8_t mgmt_class, uint8_t method)
{
	const char *text = find(methods, method);

	if (text == NULL && mgmt_class == UMAD_CLASS_SUBN_ADM)
		text = find(sa_methods, method);
	return text != NULL ? text : "<unknown>";
}

VERBS_PUBLIC const char *umad_attribute_str(uint8_t mgmt_class, __be16 attr_id)
{
	uint16_t code = be16toh(attr_id);
	const char *text = find(common_attributes, code);

	if (text == NULL && (mgmt_class == UMAD_CLASS_SUBN_LID_ROUTED || mgmt_class == UMAD_CLASS_SUBN_DIRECTED_ROUTE))
		text = find(subnet_attributes, code);
	if (text == NULL && mgmt_class == UMAD_CLASS_SUBN_ADM)
		text = find(sa_attributes, code);
	if (text == NULL && mgmt_class == UMAD_CLASS_CM)
		text = find(cm_attributes, code);
	return text != NULL ? text : "<unknown>";
}

/* Busy and redirection are bits of their own; the other causes share a three-bit field. */
VERBS_PUBLIC const char *umad_common_mad_status_str(__be16 status)
{
	uint16_t bits = be16toh(status);

	if ((bits & UMAD_STATUS_BUSY) != 0)
		return "Busy";
	if ((bits & UMAD_STATUS_REDIRECT) != 0)
		return "Redirection required";
	switch (bits & UMAD_STATUS_INVALID_FIELD_MASK) {
	case UMAD_STATUS_BAD_VERSION:
		return "Bad Version";
	case UMAD_STATUS_METHOD_NOT_SUPPORTED:
		return "Method not supported";
	case UMAD_STATUS_ATTR_NOT_SUPPORTED:
		return "Method/Attribute combo not supported";
	case UMAD_STATUS_INVALID_ATTR_VALUE:
		return "Invalid attribute/modifier field";
	default:
		return "Success";
	}
}

VERBS_PUBLIC const char *umad_sa_mad_status_str(__be16 status)
{
	static const char *const texts[] = { "Success", "No Resources", "Request Invalid", "No Records", "Too Many Records",
		"Invalid GID", "Insufficient Components", "Request Denied", "Priority Suggested" };
	size_t cause = be16toh(status) >> 8;

	return cause < sizeof(texts) / sizeof(texts[0]) ? texts[cause] : "Undefined Error";
}
