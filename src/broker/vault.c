/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

#define VAULT_FIRST_PART 128u /* sockets in end 0 */
#define VAULT_HEAD 3u         /* alive, registry, netdev */
#define VAULT_FDS_MAX (VAULT_HEAD + VAULT_FIRST_PART)

struct vault_label {
	uint8_t magic[4], version, part, wire, alive;
};

_Static_assert(VAULT_FDS_MAX <= 253, "SCM_MAX_FD");
_Static_assert(BROKER_GROUP_SOCKETS - VAULT_FIRST_PART + 1 <= VAULT_FDS_MAX, "part 1 is the smaller one");

static const uint8_t vault_magic[4] = { 's', 'S', 'v', 'V' };

int broker_vault_alive(int *alive)
{
	return ipc_name_bind(IPC_NAME_ALIVE, false, alive);
}

static int vault_put(int fd, const struct vault_label *label, const int *fds, unsigned count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(VAULT_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)label, sizeof(*label) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*label) ? BASE_OK :
		errno == ETOOMANYREFS ? BASE_ERR_NOMEM : base_err_from_errno(errno);
}

/* Copies of the descriptors in one end. */
static int vault_peek(int fd, struct vault_label *label, int fds[VAULT_FDS_MAX], unsigned *count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(VAULT_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { label, sizeof(*label) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_PEEK | MSG_CMSG_CLOEXEC);

	*count = 0;
	if (len < 0)
		return BASE_ERR_MALFORMED;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), *count * sizeof(int));
	}
	if (len == sizeof(*label) && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && memcmp(label->magic, vault_magic, 4) == 0 &&
		label->version == 1 && label->wire <= 1 && label->alive <= 1)
		return BASE_OK;
	for (unsigned i = 0; i < *count; i++)
		close(fds[i]);
	*count = 0;
	return msg.msg_flags & MSG_CTRUNC ? BASE_ERR_NOMEM : BASE_ERR_MALFORMED;
}

static void vault_init(struct broker_vault *vault)
{
	memset(vault, 0, sizeof(*vault));
	vault->made = true;
	vault->sender = vault->ends[0] = vault->ends[1] = vault->netdev_fd = vault->netdev_reader = -1;
	for (unsigned i = 0; i < BROKER_GROUP_SOCKETS; i++)
		vault->sockets[i] = -1;
}

static int registry_map(int fd, struct broker_registry **out)
{
	void *map;

	if (!ipc_memfd_is_sealed(fd, sizeof(struct broker_registry)))
		return BASE_ERR_MALFORMED;
	map = mmap(NULL, sizeof(struct broker_registry), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return BASE_ERR_NOMEM;
	*out = map;
	return BASE_OK;
}

static int registry_create(uint64_t random, int *fd, struct broker_registry **out)
{
	int err = BASE_ERR_NOMEM, memfd = memfd_create("softverbs-registry", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (memfd < 0)
		return err;
	if (ftruncate(memfd, sizeof(**out)) != 0 || fallocate(memfd, 0, 0, sizeof(**out)) != 0 ||
		fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
		(err = registry_map(memfd, out)) != BASE_OK) {
		close(memfd);
		return err;
	}
	broker_registry_init(*out, random);
	*fd = memfd;
	return BASE_OK;
}

static int netdev_reader(int fd)
{
	int reader = netdev_shared_reader(fd);

	/* Without /proc clients get the writable one: they have no reason to write. */
	return reader >= 0 ? reader : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int broker_vault_create(struct broker_vault *out, int alive, uint64_t random, const char *reason)
{
	struct vault_label label = { .version = 1, .alive = alive >= 0 };
	int pairs[2][2] = { { -1, -1 }, { -1, -1 } }, registry_fd = -1, fds[VAULT_FDS_MAX], err;
	unsigned count = 0;

	vault_init(out);
	memcpy(label.magic, vault_magic, sizeof(label.magic));
	err = registry_create(random, &registry_fd, &out->registry);
	if (err == BASE_OK)
		err = netdev_shared_create(&out->netdev_fd, &out->netdev);
	if (err != BASE_OK)
		goto done;
	out->netdev_reader = netdev_reader(out->netdev_fd);
	for (unsigned i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]) != 0) {
			err = base_err_from_errno(errno);
			goto done;
		}
		out->ends[i] = pairs[i][0];
	}
	if (reason == NULL)
		out->wire = broker_group_create(out->sockets, out->reason, sizeof(out->reason)) == BASE_OK;
	else
		snprintf(out->reason, sizeof(out->reason), "%s", reason);
	if (!out->wire)
		for (unsigned i = 0; i < BROKER_GROUP_SOCKETS; i++)
			out->sockets[i] = -1;
	label.wire = out->wire;

	if (alive >= 0)
		fds[count++] = alive;
	fds[count++] = registry_fd;
	fds[count++] = out->netdev_fd;
	for (unsigned i = 0; out->wire && i < VAULT_FIRST_PART; i++)
		fds[count++] = out->sockets[i];
	err = vault_put(pairs[0][1], &label, fds, count);
	if (err != BASE_OK)
		goto done;
	label.part = 1;
	count = 0;
	fds[count++] = registry_fd;
	for (unsigned i = VAULT_FIRST_PART; out->wire && i < BROKER_GROUP_SOCKETS; i++)
		fds[count++] = out->sockets[i];
	err = vault_put(pairs[1][1], &label, fds, count);
done:
	if (err == BASE_OK && alive < 0) {
		out->sender = pairs[0][1];
		pairs[0][1] = -1;
	}
	for (unsigned i = 0; i < 2; i++)
		if (pairs[i][1] >= 0)
			close(pairs[i][1]);
	if (registry_fd >= 0)
		close(registry_fd);
	if (alive >= 0)
		close(alive);
	if (err != BASE_OK)
		broker_vault_close(out);
	return err;
}

int broker_vault_alive_later(struct broker_vault *vault)
{
	struct vault_label label = { .version = 1, .part = 2, .alive = 1 };
	int alive, err;

	if (vault->sender < 0)
		return BASE_OK;
	err = broker_vault_alive(&alive);
	if (err != BASE_OK)
		return err;
	/* A second message: nobody reads that far, but it holds the name. */
	memcpy(label.magic, vault_magic, sizeof(label.magic));
	err = vault_put(vault->sender, &label, &alive, 1);
	close(alive);
	if (err != BASE_OK)
		return err;
	close(vault->sender);
	vault->sender = -1;
	return BASE_OK;
}

int broker_vault_adopt(struct broker_vault *out, const int ends[2])
{
	struct vault_label labels[2];
	int fds[2][VAULT_FDS_MAX], err;
	unsigned counts[2] = { 0, 0 }, at;

	vault_init(out);
	for (unsigned i = 0; i < 2; i++) {
		err = vault_peek(ends[i], &labels[i], fds[i], &counts[i]);
		if (err != BASE_OK)
			goto done;
	}
	bool wire = labels[0].wire == 1;
	unsigned head = 2u + labels[0].alive;
	err = BASE_ERR_MALFORMED;
	if (labels[0].part != 0 || labels[1].part != 1 || labels[1].wire != labels[0].wire ||
		counts[0] != head + (wire ? VAULT_FIRST_PART : 0) ||
		counts[1] != 1 + (wire ? BROKER_GROUP_SOCKETS - VAULT_FIRST_PART : 0))
		goto done;
	err = registry_map(fds[0][head - 2], &out->registry);
	if (err == BASE_OK && !broker_registry_is_sound(out->registry))
		err = BASE_ERR_MALFORMED;
	if (err == BASE_OK)
		err = netdev_shared_open(fds[0][head - 1], true, &out->netdev);
	for (unsigned i = 0; err == BASE_OK && i < 2; i++) {
		out->ends[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 0);
		if (out->ends[i] < 0)
			err = BASE_ERR_NOMEM;
	}
	if (err != BASE_OK)
		goto done;
	out->netdev_fd = fds[0][head - 1];
	fds[0][head - 1] = -1;
	out->netdev_reader = netdev_reader(out->netdev_fd);
	for (at = 0; wire && at < BROKER_GROUP_SOCKETS; at++) {
		int *from = at < VAULT_FIRST_PART ? &fds[0][head + at] : &fds[1][1 + at - VAULT_FIRST_PART];

		if (!broker_group_is_member(*from)) {
			err = BASE_ERR_MALFORMED;
			goto done;
		}
		out->sockets[at] = *from;
		*from = -1;
	}
	out->wire = wire;
	if (!wire)
		broker_group_probe(out->reason, sizeof(out->reason));
	if (!wire && out->reason[0] == '\0')
		snprintf(out->reason, sizeof(out->reason), "UDP port 4791 was in use when the first of these processes started: only "
			"processes of this host can be reached; restart all of them to reach others");
done:
	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < counts[i]; j++)
			if (fds[i][j] >= 0)
				close(fds[i][j]);
	if (err != BASE_OK)
		broker_vault_close(out);
	return err;
}

void broker_vault_close(struct broker_vault *vault)
{
	if (vault->netdev != NULL)
		netdev_shared_close(vault->netdev);
	if (vault->registry != NULL)
		munmap(vault->registry, sizeof(*vault->registry));
	if (vault->made) {
		int all[] = { vault->sender, vault->ends[0], vault->ends[1], vault->netdev_fd, vault->netdev_reader };

		for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			if (all[i] >= 0)
				close(all[i]);
		for (unsigned i = 0; i < BROKER_GROUP_SOCKETS; i++)
			if (vault->sockets[i] >= 0)
				close(vault->sockets[i]);
	}
	vault_init(vault);
}
