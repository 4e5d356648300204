/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Will an executable load our libraries? The loader's rules, read from its ELF headers; the file is hostile input. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"

#define SEGMENTS_MAX 64u
#define DYNAMIC_MAX  4096u

struct elf {
	int fd;
	Elf64_Phdr segments[SEGMENTS_MAX];
	unsigned count;
};

static bool elf_open(struct elf *elf, const char *path)
{
	Elf64_Ehdr head;

	elf->fd = open(path, O_RDONLY | O_CLOEXEC);
	elf->count = 0;
	if (elf->fd < 0 || pread(elf->fd, &head, sizeof(head), 0) != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > SEGMENTS_MAX)
		return false;
	size_t bytes = head.e_phnum * sizeof(Elf64_Phdr);

	if (head.e_phoff > INT_MAX || pread(elf->fd, elf->segments, bytes, (off_t)head.e_phoff) != (ssize_t)bytes)
		return false;
	elf->count = head.e_phnum;
	return true;
}

static const Elf64_Phdr *elf_segment(const struct elf *elf, uint32_t type)
{
	for (unsigned i = 0; i < elf->count; i++)
		if (elf->segments[i].p_type == type)
			return &elf->segments[i];
	return NULL;
}

/* The string at this address of the loaded program. */
static bool elf_string(const struct elf *elf, uint64_t address, char *out, size_t bytes)
{
	for (unsigned i = 0; i < elf->count; i++) {
		const Elf64_Phdr *s = &elf->segments[i];

		if (s->p_type != PT_LOAD || address < s->p_vaddr || address - s->p_vaddr >= s->p_filesz || s->p_offset > INT_MAX ||
		    address - s->p_vaddr > INT_MAX)
			continue;
		ssize_t got = pread(elf->fd, out, bytes - 1, (off_t)(s->p_offset + (address - s->p_vaddr)));

		if (got <= 0)
			return false;
		out[got] = '\0';
		return true;
	}
	return false;
}

/* The DT_RPATH that the loader will use: it ignores it where there is a DT_RUNPATH. */
static bool elf_rpath(const struct elf *elf, char *out, size_t bytes)
{
	const Elf64_Phdr *dynamic = elf_segment(elf, PT_DYNAMIC);
	uint64_t strings = 0, rpath = 0;
	bool has_rpath = false;
	Elf64_Dyn d;

	for (unsigned i = 0; dynamic != NULL && i < DYNAMIC_MAX && (i + 1) * sizeof(d) <= dynamic->p_filesz; i++) {
		if (dynamic->p_offset > INT_MAX ||
		    pread(elf->fd, &d, sizeof(d), (off_t)(dynamic->p_offset + i * sizeof(d))) != sizeof(d) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_RUNPATH)
			return false;
		if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
		if (d.d_tag == DT_RPATH) {
			has_rpath = true;
			rpath = d.d_un.d_val;
		}
	}
	return has_rpath && elf_string(elf, strings + rpath, out, bytes);
}

/* One of the directories of an rpath has a libibverbs of its own; $ORIGIN is the program's directory. */
static bool rpath_has_verbs(const char *rpath, const char *program, char *out, size_t bytes)
{
	const char *slash = strrchr(program, '/');
	int origin = slash != NULL ? (int)(slash - program) : 0;

	while (*rpath != '\0') {
		int len = (int)strcspn(rpath, ":"), skip = 0, used;

		if (strncmp(rpath, "$ORIGIN", 7) == 0)
			skip = 7;
		else if (strncmp(rpath, "${ORIGIN}", 9) == 0)
			skip = 9;
		used = snprintf(out, bytes, "%.*s%.*s/libibverbs.so.1", skip > 0 ? origin : 0, program, len - skip, rpath + skip);
		if (len >= skip && used > 0 && (size_t)used < bytes && access(out, F_OK) == 0)
			return true;
		rpath += len;
		rpath += *rpath == ':';
	}
	return false;
}

static void judge_elf(struct doctor_report *report, const struct elf *elf, const char *path)
{
	char rpath[1024], library[PATH_MAX];

	if (elf_segment(elf, PT_INTERP) == NULL) {
		doctor_add(report, DOCTOR_PROBLEM, "program", "%s is linked statically: it loads no libraries", path);
		doctor_remedy(report, "link it with -libverbs, dynamically");
	} else if (!elf_rpath(elf, rpath, sizeof(rpath))) {
		doctor_add(report, DOCTOR_OK, "program", "%s will load our libraries", path);
	} else if (rpath_has_verbs(rpath, path, library, sizeof(library))) {
		doctor_add(report, DOCTOR_PROBLEM, "program", "%s has a DT_RPATH, and the loader will take %.150s", path, library);
		doctor_remedy(report, "chrpath -d on a copy of it, or LD_PRELOAD our libibverbs.so.1");
	} else {
		doctor_add(report, DOCTOR_OK, "program", "%s has a DT_RPATH (%.100s), in which there is no libibverbs", path, rpath);
	}
}

void doctor_check_program(struct doctor_report *report, const char *path)
{
	struct elf elf;
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
		doctor_add(report, DOCTOR_PROBLEM, "program", "%s: %s", path, S_ISDIR(st.st_mode) ? "a directory" : strerror(errno));
		doctor_remedy(report, "name an executable file");
		return;
	}
	if ((st.st_mode & (S_ISUID | S_ISGID)) != 0) {
		doctor_add(report, DOCTOR_PROBLEM, "program", "%s is set-user-ID or set-group-ID: the loader ignores LD_LIBRARY_PATH", path);
		doctor_remedy(report, "run a copy without that bit: cp %s /tmp", path);
		return;
	}
	if (elf_open(&elf, path)) {
		judge_elf(report, &elf, path);
	} else {
		doctor_add(report, DOCTOR_NOTE, "program", "%s is no 64-bit ELF file: what it executes decides", path);
		doctor_remedy(report, "name the interpreter or the executable itself");
	}
	if (elf.fd >= 0)
		close(elf.fd);
}
