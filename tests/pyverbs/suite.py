#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs the tests of a pyverbs suite in this process and writes, for each, one line of JSON to file descriptor 3.

  suite.py TESTS_DIRECTORY DEVICE 4|6

Of the device's RoCE v2 GIDs the first of that IP version is used. A line is {"name": "test_qp.QPTest.test_create_rc_qp",
"result": "pass" | "fail" | "error" | "skip", "words": ..., "seconds": ...}; before a test begins there is one whose result is
"begun", so that who reads knows which test ended the process.
"""
import importlib.util
import json
import os
import sys
import time
import unittest


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


class Result(unittest.TestResult):
    def __init__(self, out):
        super().__init__()
        self.out, self.started = out, 0.0

    def tell(self, test, result, words=''):
        line = {'name': test.id().removeprefix('tests.'), 'result': result, 'words': words,
                'seconds': round(time.monotonic() - self.started, 3)}
        os.write(self.out, (json.dumps(line) + '\n').encode())

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        self.tell(test, 'begun')

    def addSuccess(self, test):
        self.tell(test, 'pass')

    def addError(self, test, err):
        self.tell(test, 'error', self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        self.tell(test, 'fail', self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.tell(test, 'skip', reason)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.tell(test, 'fail', self._exc_info_to_string(err, test))

    def addExpectedFailure(self, test, err):
        self.tell(test, 'pass')

    def addUnexpectedSuccess(self, test):
        self.tell(test, 'fail', 'succeeds, and was expected not to')


def gid_index(device, version):
    from pyverbs.device import Context
    import pyverbs.enums as e
    with Context(name=device) as context:
        for index in range(context.query_port(1).gid_tbl_len):
            gid = context.query_gid(1, index).gid
            mapped = gid.startswith('0000:0000:0000:0000:0000:ffff:')
            if gid.endswith(':0000:0000:0000:0000') or gid.startswith('fe80') or mapped != (version == '4'):
                continue
            if context.query_gid_type(1, index) == e.IBV_GID_TYPE_SYSFS_ROCE_V2:
                return index
    sys.exit(f'{device} has no RoCE v2 GID of IPv{version}')


def main():
    directory, device, version = sys.argv[1:]
    sys.path.insert(0, directory)
    index = gid_index(device, version)
    # What the suite's own run_tests.py does before it lets unittest take over.
    sys.argv = ['run_tests.py', '--dev', device, '--port', '1', '--gid', str(index)]
    spec = importlib.util.spec_from_file_location('tests', f'{directory}/__init__.py', submodule_search_locations=[directory])
    tests = importlib.util.module_from_spec(spec)
    sys.modules['tests'] = tests
    spec.loader.exec_module(tests)
    from args_parser import parser
    parser.parse_args()
    unittest.TestSuite(tests_of(unittest.defaultTestLoader.loadTestsFromModule(tests))).run(Result(3))


main()
