/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The judgements of the doctor, on hosts made of a few files. */
#include "cli/doctor/doctor.h"

#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct host {
	char root[64];
	struct doctor_report report;
};

static int host_make(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return -1;
	snprintf(h->root, sizeof(h->root), "/tmp/softverbs-doctor-XXXXXX");
	if (mkdtemp(h->root) == NULL)
		return -1;
	doctor_report_init(&h->report, h->root);
	*state = h;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int host_remove(void **state)
{
	struct host *h = *state;
	int err = nftw(h->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	doctor_report_fini(&h->report);
	free(h);
	return err;
}

/* The path below the root, its folders made. */
static const char *place(struct host *h, const char *path)
{
	static char full[512];

	snprintf(full, sizeof(full), "%s%s", h->root, path);
	for (char *slash = strchr(full + strlen(h->root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	return full;
}

static void put(struct host *h, const char *path, const void *bytes, size_t len)
{
	FILE *f = fopen(place(h, path), "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void put_text(struct host *h, const char *path, const char *text)
{
	put(h, path, text, strlen(text));
}

/* The newest finding has this verdict, and these words in what was found and in the remedy. */
static void expect(struct host *h, enum doctor_verdict verdict, const char *found, const char *remedy)
{
	assert_true(h->report.count > 0);
	const struct doctor_finding *f = &h->report.findings[h->report.count - 1];

	if (f->verdict != verdict || strstr(f->found, found) == NULL || strstr(f->remedy, remedy) == NULL)
		fail_msg("%s: %s: %s\n -> %s", doctor_verdict_text(f->verdict), f->check, f->found, f->remedy);
	assert_true(f->verdict == DOCTOR_OK || f->remedy[0] != '\0');
}

static void buffers_name_sysctl_and_value(void **state)
{
	struct host *h = *state;

	put_text(h, "/proc/sys/net/core/rmem_max", "212992\n");
	doctor_judge_buffer(&h->report, "rmem", 212992);
	expect(h, DOCTOR_NOTE, "208 KiB of the 16384 KiB that softverbs asks for (net.core.rmem_max is 212992)",
	       "sysctl -w net.core.rmem_max=16777216");
	doctor_judge_buffer(&h->report, "wmem", 212992); /* a namespace whose files do not tell */
	expect(h, DOCTOR_NOTE, "208 KiB", "net.core.wmem_max=16777216");
	doctor_judge_buffer(&h->report, "rmem", DOCTOR_BUFFER_BYTES);
	expect(h, DOCTOR_OK, "16384 KiB", "");
	doctor_judge_buffer(&h->report, "rmem", 0);
	expect(h, DOCTOR_PROBLEM, "no UDP socket", "seccomp");
}

static void drops_name_the_buffer_setting(void **state)
{
	struct host *h = *state;

	doctor_judge_drops(&h->report, 17, "ib_send_bw", 42, 212992);
	expect(h, DOCTOR_PROBLEM, "lost 17 packets: its receive buffer was full; this host grants 208 of", "net.core.rmem_max=16777216");
	doctor_judge_drops(&h->report, 17, "ib_send_bw", 42, DOCTOR_BUFFER_BYTES);
	expect(h, DOCTOR_NOTE, "lost 17 packets", "SOFTVERBS_RCVBUF");
}

static void namespaces_have_the_remedy_of_their_host(void **state)
{
	struct host *h = *state;

	doctor_judge_namespaces(&h->report, 0);
	expect(h, DOCTOR_OK, "unshare -rn", "");
	doctor_judge_namespaces(&h->report, EPERM);
	expect(h, DOCTOR_NOTE, "not allowed", "seccomp");
	put_text(h, "/proc/sys/user/max_user_namespaces", "0\n");
	doctor_judge_namespaces(&h->report, ENOSPC);
	expect(h, DOCTOR_NOTE, "not allowed", "user.max_user_namespaces=");
	put_text(h, "/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	doctor_judge_namespaces(&h->report, EPERM);
	expect(h, DOCTOR_NOTE, "not allowed", "kernel.unprivileged_userns_clone=1");
	put_text(h, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	doctor_judge_namespaces(&h->report, EACCES);
	expect(h, DOCTOR_NOTE, "not allowed", "apparmor_restrict_unprivileged_userns=0");
}

static void limits_and_ptrace(void **state)
{
	struct host *h = *state;

	doctor_judge_files(&h->report, 1024, 4096);
	expect(h, DOCTOR_OK, "1024", "");
	doctor_judge_files(&h->report, 256, 512);
	expect(h, DOCTOR_NOTE, "256", "ulimit -n 512");
	doctor_judge_files(&h->report, 64, 64);
	expect(h, DOCTOR_PROBLEM, "64 at most", "hard limit");
	doctor_judge_flight(&h->report, ETOOMANYREFS);
	expect(h, DOCTOR_PROBLEM, "brokers of this user", "ulimit -n");
	doctor_check_ptrace(&h->report);
	expect(h, DOCTOR_OK, "no Yama", "");
	put_text(h, "/proc/sys/kernel/yama/ptrace_scope", "1\n");
	doctor_check_ptrace(&h->report);
	expect(h, DOCTOR_OK, "irrelevant", "its own children");
	doctor_check_memlock(&h->report);
	expect(h, DOCTOR_OK, "irrelevant", "");
}

/* 0x12B7 is 4791. */
static const char sockets[] =
	"   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"
	"  100: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   102        0 11111 2 0000000000000000 0\n"
	"  200: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1001        0 77777 2 0000000000000000 0\n";

static void port_free_ours_foreign(void **state)
{
	struct host *h = *state;
	struct doctor_holder holder;

	doctor_port_holder(&h->report, &holder);
	assert_false(holder.listed);
	doctor_judge_port(&h->report, DOCTOR_PORT_FREE, -1, "", &holder, 1000);
	expect(h, DOCTOR_OK, "free", "");
	doctor_judge_port(&h->report, DOCTOR_PORT_TAKEN, 1, "", &holder, 1000);
	expect(h, DOCTOR_OK, "ours", "");
	doctor_judge_port(&h->report, DOCTOR_PORT_TAKEN, -1, "", &holder, 1000);
	expect(h, DOCTOR_PROBLEM, "whom the kernel does not list", "ss -lunp");
	doctor_judge_port(&h->report, DOCTOR_PORT_FREE, 0, "it was in use", &holder, 1000);
	expect(h, DOCTOR_PROBLEM, "it was in use", "end all RDMA programs");
	doctor_judge_port(&h->report, DOCTOR_PORT_FORBIDDEN, -1, "", &holder, 1000);
	expect(h, DOCTOR_PROBLEM, "may not be opened", "seccomp");

	put_text(h, "/sys/module/rdma_rxe/initstate", "live\n");
	doctor_port_holder(&h->report, &holder);
	doctor_judge_port(&h->report, DOCTOR_PORT_TAKEN, -1, "", &holder, 1000);
	expect(h, DOCTOR_PROBLEM, "rxe", "rmmod rdma_rxe");
}

static void port_holder_by_name_where_visible(void **state)
{
	struct host *h = *state;
	struct doctor_holder holder;
	char link[512];

	put_text(h, "/proc/net/udp", sockets);
	doctor_port_holder(&h->report, &holder);
	assert_true(holder.listed && holder.uid == 1001 && holder.pid == 0);
	doctor_judge_port(&h->report, DOCTOR_PORT_TAKEN, -1, "", &holder, 1000);
	expect(h, DOCTOR_PROBLEM, "user 1001", "ss -lunp");

	put_text(h, "/proc/555/comm", "some-tool\n");
	snprintf(link, sizeof(link), "%s", place(h, "/proc/555/fd/3"));
	assert_int_equal(symlink("socket:[77777]", link), 0);
	doctor_port_holder(&h->report, &holder);
	assert_int_equal(holder.pid, 555);
	doctor_judge_port(&h->report, DOCTOR_PORT_TAKEN, 0, "in use", &holder, 1000);
	expect(h, DOCTOR_PROBLEM, "some-tool, process 555 of user 1001; the broker says: in use", "end process 555");
}

/* A loadable program with this dynamic section; strings are at address 0x1000. */
static void put_program(struct host *h, const char *path, const Elf64_Dyn *dynamic, size_t count, const char *strings,
			bool interp)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[3];
		Elf64_Dyn dynamic[4];
		char strings[128];
	} file = {.head = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = interp ? 3 : 2}};

	memcpy(file.head.e_ident, ELFMAG, SELFMAG);
	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_vaddr = 0x1000,
					.p_offset = (size_t)((char *)file.strings - (char *)&file),
					.p_filesz = sizeof(file.strings)};
	file.segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
					.p_offset = (size_t)((char *)file.dynamic - (char *)&file),
					.p_filesz = sizeof(file.dynamic)};
	file.segments[2] = (Elf64_Phdr){.p_type = PT_INTERP};
	memcpy(file.dynamic, dynamic, count * sizeof(*dynamic));
	snprintf(file.strings, sizeof(file.strings), "%s", strings);
	put(h, path, &file, sizeof(file));
}

static void programs(void **state)
{
	static const Elf64_Dyn none[] = {{.d_tag = DT_NULL}};
	static const Elf64_Dyn rpath[] = {{.d_tag = DT_STRTAB, .d_un.d_ptr = 0x1000}, {.d_tag = DT_RPATH}, {.d_tag = DT_NULL}};
	static const Elf64_Dyn runpath[] = {{.d_tag = DT_STRTAB, .d_un.d_ptr = 0x1000}, {.d_tag = DT_RPATH}, {.d_tag = DT_RUNPATH}};
	static const Elf64_Dyn wild[] = {{.d_tag = DT_STRTAB, .d_un.d_ptr = ~0ull}, {.d_tag = DT_RPATH, .d_un.d_val = 7}};
	struct host *h = *state;

	put_program(h, "/bin/plain", none, 1, "", true);
	doctor_check_program(&h->report, place(h, "/bin/plain"));
	expect(h, DOCTOR_OK, "will load our libraries", "");
	put_program(h, "/bin/static", none, 1, "", false);
	doctor_check_program(&h->report, place(h, "/bin/static"));
	expect(h, DOCTOR_PROBLEM, "statically", "dynamically");
	put_program(h, "/bin/rpath", rpath, 3, "/nowhere:$ORIGIN/../lib", true);
	doctor_check_program(&h->report, place(h, "/bin/rpath"));
	expect(h, DOCTOR_OK, "in which there is no libibverbs", "");
	put_text(h, "/lib/libibverbs.so.1", "");
	doctor_check_program(&h->report, place(h, "/bin/rpath"));
	expect(h, DOCTOR_PROBLEM, "/bin/../lib/libibverbs.so.1", "chrpath");
	put_program(h, "/bin/runpath", runpath, 3, "$ORIGIN/../lib", true);
	doctor_check_program(&h->report, place(h, "/bin/runpath"));
	expect(h, DOCTOR_OK, "will load our libraries", "");
	put_program(h, "/bin/wild", wild, 2, "", true);
	doctor_check_program(&h->report, place(h, "/bin/wild"));
	expect(h, DOCTOR_OK, "", "");
	put_text(h, "/bin/script", "#!/bin/sh\n");
	doctor_check_program(&h->report, place(h, "/bin/script"));
	expect(h, DOCTOR_NOTE, "no 64-bit ELF", "interpreter");
	assert_int_equal(chmod(place(h, "/bin/plain"), 04755), 0);
	doctor_check_program(&h->report, place(h, "/bin/plain"));
	expect(h, DOCTOR_PROBLEM, "set-user-ID", "cp ");
	doctor_check_program(&h->report, place(h, "/bin/absent"));
	expect(h, DOCTOR_PROBLEM, "No such file", "name");
}

/* On the host that runs this: each check has a finding, whatever it is, and each that is not OK a remedy. */
static void this_host(void **state)
{
	struct doctor_report report;

	doctor_report_init(&report, "");
	doctor_check_buffers(&report);
	doctor_check_kernel(&report);
	doctor_check_memlock(&report);
	doctor_check_files(&report);
	doctor_check_flight(&report);
	doctor_check_ptrace(&report);
	doctor_check_namespaces(&report);
	doctor_check_interfaces(&report);
	assert_true(report.count >= 10 && !report.out_of_memory);
	for (unsigned i = 0; i < report.count; i++)
		assert_true(report.findings[i].found[0] != '\0' &&
			    (report.findings[i].verdict == DOCTOR_OK || report.findings[i].remedy[0] != '\0'));
	doctor_report_fini(&report);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, host_make, host_remove)
	const struct CMUnitTest tests[] = {
		CASE(buffers_name_sysctl_and_value),
		CASE(drops_name_the_buffer_setting),
		CASE(namespaces_have_the_remedy_of_their_host),
		CASE(limits_and_ptrace),
		CASE(port_free_ours_foreign),
		CASE(port_holder_by_name_where_visible),
		CASE(programs),
		cmocka_unit_test(this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
