/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/attribute.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum kind { OF_BOARD, OF_FIRMWARE, OF_REVISION, OF_NODE_DESC, OF_NODE_GUID, OF_NODE_TYPE, OF_SYS_IMAGE_GUID };

static const struct {
	const char *name;
	enum kind kind;
} files[] = {
	{"board_id", OF_BOARD},	      {"fw_ver", OF_FIRMWARE},	  {"hca_type", OF_BOARD},     {"hw_rev", OF_REVISION},
	{"node_desc", OF_NODE_DESC},  {"node_guid", OF_NODE_GUID}, {"node_type", OF_NODE_TYPE}, {"sys_image_guid", OF_SYS_IMAGE_GUID},
};

const char *sysview_device_file(unsigned number)
{
	return number < sizeof(files) / sizeof(files[0]) ? files[number].name : NULL;
}

static int guid_text(uint64_t guid, char *out, size_t room)
{
	return snprintf(out, room, "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48), (unsigned)(guid >> 32 & 0xffff),
			(unsigned)(guid >> 16 & 0xffff), (unsigned)(guid & 0xffff));
}

static int text_of(const struct sysview_identity *identity, enum kind kind, char *out, size_t room)
{
	switch (kind) {
	case OF_BOARD:
		return snprintf(out, room, "softverbs");
	case OF_FIRMWARE:
		return snprintf(out, room, "%s", identity->firmware);
	case OF_REVISION:
		return snprintf(out, room, "0x0");
	case OF_NODE_DESC:
		return snprintf(out, room, "%s", identity->node_desc);
	case OF_NODE_GUID:
		return guid_text(identity->node_guid, out, room);
	case OF_NODE_TYPE:
		return snprintf(out, room, "1: CA");
	case OF_SYS_IMAGE_GUID:
		return guid_text(identity->sys_image_guid, out, room);
	}
	return -1;
}

int sysview_device_text(const struct sysview_identity *identity, const char *file, char *out, size_t room)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (strcmp(files[i].name, file) != 0)
			continue;
		int len = text_of(identity, files[i].kind, out, room);
		return len >= 0 && (size_t)len < room ? len : BASE_ERR_RANGE;
	}
	return BASE_ERR_NOENT;
}

enum { STATE_DOWN = 1, STATE_ACTIVE = 4, PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };

unsigned sysview_port_state(bool up)
{
	return up ? STATE_ACTIVE : STATE_DOWN;
}

unsigned sysview_port_phys(bool up)
{
	return up ? PHYS_LINK_UP : PHYS_DISABLED;
}

const char *sysview_port_state_text(bool up)
{
	return up ? "4: ACTIVE" : "1: DOWN";
}

const char *sysview_port_phys_text(bool up)
{
	return up ? "5: LinkUp" : "3: Disabled";
}

void sysview_gid_text(const struct wire_gid *gid, char out[SYSVIEW_TEXT])
{
	size_t at = 0;

	for (unsigned i = 0; i < sizeof(gid->raw); i += 2)
		at += (size_t)snprintf(out + at, SYSVIEW_TEXT - at, "%s%02x%02x", i > 0 ? ":" : "", gid->raw[i], gid->raw[i + 1]);
}

const char *sysview_gid_type_text(enum wire_gid_type type)
{
	return type == WIRE_GID_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1";
}
