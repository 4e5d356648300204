#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""House style as tests.

  style.py layers|text|borders|headers|man|readme   checks the checkout; prints FILE:LINE: complaint, exits 1 on any
  style.py self                                     feeds each rule a sample that it must refuse and one that it must take

Rules are functions of (path, text), so that `self` can try them.
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE_LINES, LINE_COLUMNS, README_LINES = 800, 140, 60
TEST_FILE_LINES = 1000  # a table of cases may be longer than a noun
TAB = 4

# Where the types of the public interface may be named; broker and process speak the kernel's rdma_ucm_* commands.
EDGES = ('src/verbs/', 'src/rdmacm/', 'src/efadv/', 'src/stubs/', 'src/rsocket/', 'src/cli/', 'src/sysview/preload/', 'lib/',
         'tests/', 'sim/', 'fuzz/')
UCM_SPEAKERS = ('src/broker/', 'src/process/', 'src/cm/')
# What a sans-IO folder may not call.
PURE = ('src/transport/', 'src/cm/', 'src/subnet/')
IMPURE_CALLS = re.compile(
    r'\b(malloc|calloc|realloc|free|strdup|clock_gettime|gettimeofday|time|nanosleep|usleep|sleep|getrandom|rand|socket|'
    r'sendmsg|recvmsg|sendto|recvfrom|read|write|poll|epoll_\w+|eventfd|mmap|pthread_\w+|thrd_\w+|mtx_\w+|printf|fprintf|'
    r'puts|base_log|base_error|base_warn|base_explain|base_clock_now|base_random_bytes)\s*\(')
MARKERS = re.compile(r'\b(' + '|'.join(('TO' 'DO', 'FIX' 'ME', 'X' 'XX', 'HA' 'CK')) + r')\b')
MACHINE = re.compile(r'(?<![\w.-])/(?:work|farm|home|root)/|https?://(?:deb|registry)\.')


def files():
    """Every file of the checkout that is ours to style, relative to TOP."""
    for where, folders, names in os.walk(TOP):
        folders[:] = sorted(f for f in folders if not f.startswith('build') and f not in ('.git', '__pycache__', 'LICENSES'))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(where, name), TOP)


def read(path):
    with open(os.path.join(TOP, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def is_c(path):
    return path.endswith(('.c', '.h'))


def is_source(path):
    name = os.path.basename(path)
    return is_c(path) or path.endswith(('.py', '.sh', '.map', '.S')) or name in ('meson.build', 'meson_options.txt',
                                                                                 'check', 'quickstart') \
        or path == '.ci/run' or re.fullmatch(r'man/.*\.[1-8]', path) is not None


def code_only(text):
    """The text with comments and strings blanked, line by line the same."""
    blank = lambda m: re.sub(r'[^\n]', ' ', m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def lines_matching(pattern, text):
    for number, line in enumerate(text.split('\n'), 1):
        m = pattern.search(line)
        if m:
            yield number, m


# --- layers -----------------------------------------------------------------

def parse_layers(text):
    allowed, extra, order = {}, set(), []
    for line in text.split('\n'):
        line = line.split('#')[0].strip()
        if line.startswith('+'):
            _, folder, header, reason = line.split(None, 3)
            assert reason
            extra.add((folder, header))
        elif line:
            folder, rest = line.split(':')
            allowed[folder] = set(rest.split()) | {'base', folder}
            order.append(folder)
    for folder in order:
        for other in allowed[folder]:
            assert other in order, f'layers.txt: {folder} may include {other}, which has no line'
    return allowed, extra


def layer_of(path, allowed):
    """The folder in the list that a path below src/ belongs to; None when it has no line."""
    parts = path.split('/')
    for n in (2, 1):
        if '/'.join(parts[:n]) in allowed and len(parts) > n:
            return '/'.join(parts[:n])
    return None


INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def rule_layers(path, text, allowed, extra):
    if not path.startswith('src/') or not is_c(path):
        return
    own = layer_of(path[4:], allowed)
    if own is None:
        yield 1, 'this folder has no line in tests/style/layers.txt'
        return
    first = True
    for number, m in lines_matching(INCLUDE, text):
        kind, header = m.groups()
        if kind == '<':
            if header.startswith(('infiniband/', 'rdma/')) and not path.startswith(EDGES) and \
                    not (header == 'rdma/rdma_user_cm.h' and path.startswith(UCM_SPEAKERS)):
                yield number, f'<{header}> stops at the edges ({", ".join(EDGES[:5])})'
            continue
        other = layer_of(header, allowed)
        if other is None:
            yield number, f'"{header}": include from the source root, by a folder of the layer list'
        elif other not in allowed[own] and (own, header) not in extra:
            yield number, f'{own} may not include "{header}": see tests/style/layers.txt'
        if first and path.endswith('.c') and not path.endswith('_test.c'):
            mine = path[4:-2] + '.h'
            if os.path.exists(os.path.join(TOP, 'src', mine)) and header != mine:
                yield number, f'the file\'s own header "{mine}" comes first'
        first = False


def check_layers():
    allowed, extra = parse_layers(read('tests/style/layers.txt'))
    for path in files():
        if is_c(path):
            for number, complaint in rule_layers(path, read(path), allowed, extra):
                yield path, number, complaint


# --- text -------------------------------------------------------------------

def rule_text(path, text):
    head = '\n'.join(text.split('\n')[:3])
    if is_source(path) and 'SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only' not in head:
        yield 1, 'no SPDX line at the top'
    lines = text.split('\n')
    most = FILE_LINES if str(path).startswith('src/') else TEST_FILE_LINES
    if is_c(path) and len(lines) - 1 > most:
        yield most, f'{len(lines) - 1} lines; at {most} ask which noun is hiding'
    if is_source(path):
        for number, line in enumerate(lines, 1):
            width = len(line.expandtabs(TAB)) if line.startswith('\t') else len(line)
            if width > LINE_COLUMNS and not path.endswith(('.map', '.sh')) and os.path.basename(path) not in ('check',
                                                                                                              'quickstart'):
                yield number, f'{width} columns, {LINE_COLUMNS} are the limit'
            if line != line.rstrip():
                yield number, 'white space at the end of the line'
    for number, m in lines_matching(MARKERS, text):
        yield number, f'{m.group(0)}: settle it or say it in the issue'
    if path != 'tests/style/style.py':
        for number, m in lines_matching(MACHINE, text):
            yield number, f'"{m.group(0)}" names a path of one machine or a mirror'


def check_text():
    for path in files():
        if is_source(path) or path.endswith(('.md', '.txt')):
            for number, complaint in rule_text(path, read(path)):
                yield path, number, complaint


# --- borders ----------------------------------------------------------------

ABI_NAME = re.compile(r'\b(ibv_\w+|rdma_[a-z]\w*|efadv_\w+)\b')


def rule_borders(path, text):
    if not is_c(path):
        return
    code = code_only(text)
    if path.startswith('src/') and not path.startswith(EDGES):
        for number, m in lines_matching(ABI_NAME, code):
            if not (m.group(1).startswith('rdma_ucm')
                    and path.startswith(UCM_SPEAKERS)) and not INCLUDE.match(text.split('\n')[number - 1]):
                yield number, f'{m.group(1)}: names of the public interface stop at the edge folders'
    if path.startswith(PURE) and not path.endswith('_test.c'):
        for number, m in lines_matching(IMPURE_CALLS, code):
            yield number, f'{m.group(1)}(): no clock, socket, thread, log or allocation in a sans-IO folder'
    if path.startswith('src/'):
        for number, m in lines_matching(re.compile(r'\b(strcat|sprintf|vsprintf|gets|alloca)\s*\('), code):
            yield number, f'{m.group(1)}(): use the one with a bound'


def check_borders():
    for path in files():
        if is_c(path):
            for number, complaint in rule_borders(path, read(path)):
                yield path, number, complaint


# --- headers ----------------------------------------------------------------

def compile_alone(path, text=None):
    """None, or why the header does not compile by itself."""
    command = [os.environ.get('CC', 'cc'), '-std=gnu11', '-D_GNU_SOURCE', '-Wall', '-Werror', '-fsyntax-only',
               '-I' + os.path.join(TOP, 'src'),
               '-x', 'c', '-']
    source = text if text is not None else f'#include "{os.path.join(TOP, path)}"\n'
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    return None if done.returncode == 0 else next((l for l in done.stderr.split('\n') if 'error' in l), done.stderr.strip())


def check_headers():
    headers = [p for p in files() if p.startswith('src/') and p.endswith('.h')]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, why in zip(headers, pool.map(compile_alone, headers)):
            if why:
                yield path, 1, f'does not compile alone: {why}'
    for path in headers:
        guard = re.search(r'^#ifndef (\w+)\n#define (\w+)', read(path), re.M)
        want = re.sub(r'\W', '_', path[4:]).upper()
        if not guard or guard.group(1) != want or guard.group(2) != want:
            yield path, 1, f'its include guard is not {want}'


# --- man, readme ------------------------------------------------------------

def check_man():
    if not shutil.which('mandoc'):
        print('skipped: mandoc is not installed')
        sys.exit(77)
    pages = [p for p in files() if re.fullmatch(r'man/.*\.[1-8]', p)]
    if not pages:
        yield 'man', 1, 'no manual pages'
    for path in pages:
        done = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', os.path.join(TOP, path)], capture_output=True,
                              text=True)
        for line in (done.stdout + done.stderr).strip().split('\n'):
            if line:
                yield path, int((re.search(r':(\d+):', line) or [0, 1])[1]), line.split(': ', 1)[-1]
        if '.Sh EXAMPLES' not in read(path):
            yield path, 1, 'no worked example'


def rule_readme(text):
    lines = text.strip().split('\n')
    if not lines[0].startswith('# '):
        yield 1, 'begins with a title'
    if len(lines) > README_LINES:
        yield len(lines), f'{len(lines)} lines; one screen is {README_LINES}'


def check_readme():
    for folder in sorted({os.path.dirname(p) for p in files() if p.startswith('src/') and is_c(p)}):
        path = folder + '/README.md'
        if not os.path.exists(os.path.join(TOP, path)):
            if folder.count('/') == 1:
                yield path, 1, 'each folder has a README of one screen'
            continue
        for number, complaint in rule_readme(read(path)):
            yield path, number, complaint


# --- self -------------------------------------------------------------------

def self_test():
    spdx = '/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */\n'
    allowed, extra = parse_layers('base:\nwire:\nhca: wire\nnode:\n+ hca node/flow.h because\n')
    layers = lambda path, text: list(rule_layers(path, text, allowed, extra))
    text = lambda path, body: list(rule_text(path, body))
    borders = lambda path, body: list(rule_borders(path, body))
    cases = [  # what, got, must it complain
        ('downward include', layers('src/hca/zz.c', '#include "wire/bth.h"\n#include <stdio.h>\n'), False),
        ('upward include', layers('src/wire/zz.c', '#include "hca/qp.h"\n'), True),
        ('recorded exception', layers('src/hca/zz.c', '#include "node/flow.h"\n'), False),
        ('beside the exception', layers('src/hca/zz.c', '#include "node/node.h"\n'), True),
        ('include not from the root', layers('src/hca/zz.c', '#include "qp.h"\n'), True),
        ('folder without a line', layers('src/new/zz.c', ''), True),
        ('ABI header below the edge', layers('src/hca/zz.c', '#include <infiniband/verbs.h>\n'), True),
        ('good text', text('src/hca/zz.c', spdx + 'int x;\n'), False),
        ('no SPDX', text('src/hca/zz.c', 'int x;\n'), True),
        ('long line', text('src/hca/zz.c', spdx + 'x' * 150 + '\n'), True),
        ('long file', text('src/hca/zz.c', spdx + 'int x;\n' * 800), True),
        ('trailing blank', text('src/hca/zz.c', spdx + 'int x; \n'), True),
        ('marker', text('src/hca/zz.c', spdx + '/* TO' + 'DO */\n'), True),
        ('machine path', text('README.md', 'see /ho' + 'me/me/x\n'), True),
        ('relative path', text('README.md', 'see src/home/x\n'), False),
        ('ABI name below the edge', borders('src/hca/qp.c', 'struct ibv_qp *q;\n'), True),
        ('ABI name in a comment', borders('src/hca/qp.c', '/* as ibv_qp */ int x; char *s = "ibv_qp";\n'), False),
        ('ABI name at the edge', borders('src/verbs/qp.c', 'struct ibv_qp *q;\n'), False),
        ('ucm in the broker', borders('src/broker/x.c', 'struct rdma_ucm_cmd_hdr h;\n'), False),
        ('malloc in transport', borders('src/transport/x.c', 'p = malloc(4);\n'), True),
        ('malloc in a transport test', borders('src/transport/x_test.c', 'p = malloc(4);\n'), False),
        ('malloc elsewhere', borders('src/hca/x.c', 'p = malloc(4);\n'), False),
        ('sprintf', borders('src/hca/x.c', 'sprintf(p, "x");\n'), True),
        ('lone header', compile_alone('', '#include <stdint.h>\nuint8_t f(void);\n'), False),
        ('header that leans on others', compile_alone('', 'uint8_t f(void);\n'), True),
        ('readme', list(rule_readme('# x\ny\n')), False),
        ('long readme', list(rule_readme('# x\n' * 99)), True),
        ('readme without title', list(rule_readme('x\n')), True),
    ]
    for what, got, must in cases:
        if bool(got) != must:
            yield 'tests/style/style.py', 1, f'self test "{what}": got {got}'


def main():
    checks = {'layers': check_layers, 'text': check_text, 'borders': check_borders, 'headers': check_headers,
              'man': check_man,
              'readme': check_readme, 'self': self_test}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    bad = 0
    for path, number, complaint in checks[sys.argv[1]]():
        print(f'{path}:{number}: {complaint}')
        bad += 1
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
