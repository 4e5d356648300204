#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""ECE as what is installed has it.

  ece.py BUILD

The public calls compile and link in C and C++ with the distribution's headers, the kernel's structures have their size, the
manual pages are there, name each field of struct ibv_ece, render, and are all installed.
"""
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ['ibv_query_ece.3', 'ibv_set_ece.3', 'rdma_get_remote_ece.3', 'rdma_set_local_ece.3', 'rdma_reject_ece.3', 'rdma_cm.7',
         'softverbs-ece.7']
FIELDS = ['vendor_id', 'options', 'comp_mask']
DESCRIBE = [page for page in PAGES if page != 'rdma_reject_ece.3']  # that call has no such argument
# Where the ECE steps are, in the order in which each side goes through them.
STEPS = [['The client', 'ibv_query_ece', 'rdma_set_local_ece', 'rdma_connect', 'rdma_get_remote_ece', 'ibv_set_ece',
          'rdma_establish'],
         ['The server', 'rdma_get_remote_ece', 'ibv_set_ece', 'ibv_modify_qp', 'ibv_query_ece', 'rdma_set_local_ece',
          'rdma_accept', 'rdma_reject_ece']]
HEAD = r'''
#include <stddef.h>
#ifdef __cplusplus
#define HOLDS static_assert
#else
#define HOLDS _Static_assert
#endif
'''
KERNEL = HEAD + r'''
#include <rdma/rdma_user_cm.h>
HOLDS(offsetof(struct rdma_ucm_connect, ece) == 280 && sizeof(struct rdma_ucm_connect) == 288, "connect");
HOLDS(offsetof(struct rdma_ucm_accept, ece) == 288 && sizeof(struct rdma_ucm_accept) == 296, "accept");
HOLDS(offsetof(struct rdma_ucm_event_resp, ece) == 328 && sizeof(struct rdma_ucm_event_resp) == 336, "event");
HOLDS(offsetof(struct rdma_ucm_reject, reason) == 5 && sizeof(struct rdma_ucm_reject) == 264, "reject");
'''
PROGRAM = HEAD + r'''
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
HOLDS(sizeof(struct ibv_ece) == 12 && offsetof(struct ibv_ece, vendor_id) == 0 && offsetof(struct ibv_ece, options) == 4 &&
      offsetof(struct ibv_ece, comp_mask) == 8, "struct ibv_ece");
HOLDS(sizeof(struct rdma_cm_event) == 80, "programs from before ECE have events of this size");
int main(void)
{
	struct ibv_ece ece = { 0, 0, 0 };
	int (*query)(struct ibv_qp *, struct ibv_ece *) = ibv_query_ece, (*set)(struct ibv_qp *, struct ibv_ece *) = ibv_set_ece;
	int (*get)(struct rdma_cm_id *, struct ibv_ece *) = rdma_get_remote_ece;
	int (*tell)(struct rdma_cm_id *, struct ibv_ece *) = rdma_set_local_ece;
	int (*reject)(struct rdma_cm_id *, const void *, uint8_t) = rdma_reject_ece;

	return query(NULL, &ece) == 22 && set(NULL, &ece) == 22 && get(NULL, &ece) == -1 && tell(NULL, &ece) == -1 &&
	       reject(NULL, NULL, 0) == -1 ? 0 : 1;
}
'''


def must(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, **how)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)}: {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def compiles(build, work):
    for compiler, name in (('cc', 'ece.c'), ('c++', 'ece.cc')):
        if not shutil.which(compiler):
            continue
        path = f'{work}/{name}'
        with open(path, 'w') as f:
            f.write(PROGRAM)
        must([compiler, '-Wall', '-Werror', '-o', f'{work}/ece', path, f'{build}/lib/libibverbs.so.1', f'{build}/lib/librdmacm.so.1'])
        must([compiler, '-Wall', '-Werror', '-fsyntax-only', '-x', 'c' if compiler == 'cc' else 'c++', '-'], input=KERNEL)
        must([f'{work}/ece'], env=dict(os.environ, LD_LIBRARY_PATH=f'{build}/lib'))


def pages():
    for page in PAGES:
        with open(f'{TOP}/man/{page}') as f:
            source = f.read()
        for field in FIELDS if page in DESCRIBE else []:
            if f'.It Va {field}' not in source:
                sys.exit(f'{page} does not describe {field}')
        if shutil.which('mandoc'):
            must(['mandoc', '-T', 'utf8', f'{TOP}/man/{page}'])
    with open(f'{TOP}/man/rdma_cm.7') as f:
        source = f.read()
    for title, *steps in STEPS:
        at = source.index(f'.Ss {title}')
        for step in steps:
            at = source.find(step, at + 1)
            if at < 0:
                sys.exit(f'rdma_cm.7, {title}: {step} is not where it belongs')


def installs(build, work):
    must(['sh', f'{TOP}/scripts/install.sh', 'lib/softverbs', 'share/man'],
         env=dict(os.environ, MESON_INSTALL_DESTDIR_PREFIX=f'{work}/to', MESON_BUILD_ROOT=build, MESON_SOURCE_ROOT=TOP))
    there = {name for _, _, names in os.walk(f'{work}/to/share/man') for name in names}
    missing = set(os.listdir(f'{TOP}/man')) - there - {'meson.build'}
    if missing:
        sys.exit(f'not installed: {", ".join(sorted(missing))}')
    libraries = os.listdir(f'{work}/to/lib/softverbs')
    for name in ('libibverbs.so.1', 'librdmacm.so.1'):
        if name not in libraries:
            sys.exit(f'{name} is not installed')


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        compiles(build, work)
        pages()
        installs(build, work)


if __name__ == '__main__':
    main()
