# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of the files that programs read: /sys/class/infiniband and its neighbours under `softverbs run`, against what verbs say."""
import json
import os
import re

from rows import need_program, row, rows_for
from world import Failed, Skipped, need

READER = r'''
import json, os, sys
out = {}
for top in ('/sys/class/infiniband', '/sys/class/infiniband_verbs'):
    for where, folders, names in os.walk(top):
        for name in names + folders:
            path = os.path.join(where, name)
            if os.path.islink(path):
                out[path] = os.path.realpath(path)
            elif os.path.isfile(path):
                out[path] = open(path).read().rstrip('\n')
node = '/dev/infiniband/' + os.listdir('/sys/class/infiniband_verbs')[0].replace('abi_version', 'rdma_cm')
out['node'] = [os.access(node, os.R_OK | os.W_OK), os.stat(node).st_mode >> 12]
out['ids'] = [os.getuid(), os.geteuid(), os.getgid(), os.getegid()]
print(json.dumps(out))
'''


def read_tree(w, form, as_root=False):
    process = w.start([f'{w.product}/softverbs', 'run', f'--sysview={form}', '--', 'python3', '-c', READER], via='none', as_root=as_root)
    if process.wait(10) == 1 and 'cannot be shown' in process.text() and form == 'mount':
        raise Skipped(f'no mount namespace: {process.text()}')
    return json.loads(process.expect(1).strip().split('\n')[-1])


def as_verbs_say(w, files):
    """Each device and port, by ibv_devinfo -v and by `softverbs devices`."""
    text = w.start(['ibv_devinfo', '-v']).expect(10)
    seen = 0
    for part in re.split(r'^hca_id:\s+', text, flags=re.M)[1:]:
        name = part.split('\n')[0].strip()
        base = f'/sys/class/infiniband/{name}'
        field = dict(re.findall(r'^\s*(\w+):\s+(.*?)\s*$', part, re.M))
        guid = files[f'{base}/node_guid']
        need(guid == field['node_guid'] == files[f'{base}/sys_image_guid'], f'{name}: {guid}, {field["node_guid"]}')
        need(files[f'{base}/fw_ver'] == field['fw_ver'] and files[f'{base}/board_id'] == field['board_id'], f'{name}: {field}')
        port = f'{base}/ports/1'
        state, number = re.match(r'PORT_(\w+) \((\d+)\)', field['state']).groups()
        need(files[f'{port}/state'] == f'{number}: {state}', f'{name}: {files[f"{port}/state"]}, {field["state"]}')
        need(files[f'{port}/phys_state'].split(':')[0] == re.search(r'\((\d+)\)', field['phys_state']).group(1),
             f'{name}: {files[f"{port}/phys_state"]}, {field["phys_state"]}')
        need(files[f'{port}/link_layer'] == field['link_layer'], f'{name}: {field["link_layer"]}')
        rate(name, files[f'{port}/rate'], field)
        gids = re.findall(r'GID\[\s*(\d+)\]:\s+(\S+?),? ?(RoCE v\d)?$', part, re.M)
        need(gids, f'no GIDs in\n{part}')
        types = {i for i in range(128) if f'{port}/gid_attrs/types/{i}' in files}
        need({int(i) for i, _, _ in gids} == types, f'{name}: {gids}\n{types}')
        for index, _, kind in gids:
            need(files[f'{port}/gid_attrs/types/{index}'].endswith(kind), f'{name}: GID {index}: {kind}')
        seen += 1
    need(seen > 0 and seen == len([p for p in files if p.endswith('/node_type')]), f'{seen} devices\n{text}')


def rate(name, text, field):
    """"10 Gb/sec (1X QDR)": width and speed as the port's."""
    speed, width = re.match(r'([\d.]+) Gb/sec \((\d+)X', text).groups()
    lanes = int(re.match(r'(\d+)X', field['active_width']).group(1))
    lane = float(re.match(r'([\d.]+) Gbps', field['active_speed']).group(1))
    need(int(width) == lanes and abs(float(speed) - lanes * lane) / float(speed) < 0.04,
         f'{name}: {text}, {field["active_width"]}, {field["active_speed"]}')


def gids_as_listed(w, files):
    for device in json.loads(w.softverbs('devices', '--json'))['devices']:
        port = f'/sys/class/infiniband/{device["name"]}/ports/1'
        net = f'/sys/class/infiniband/{device["name"]}/device/net/{device["netdev"]}'
        need(net in files and files[net].endswith(f'/net/{device["netdev"]}'), f'{net}: {files.get(net)}')
        for gid in device['gids']:
            raw = files[f'{port}/gids/{gid["index"]}']
            need(re.fullmatch(r'([0-9a-f]{4}:){7}[0-9a-f]{4}', raw) and not raw.endswith(':0000:0000:0000:0000'), raw)


@rows_for('sysview: the files say what verbs say, --sysview=%s', [('auto',), ('preload',), ('mount',)])
def _(w, form):
    need_program('ibv_devinfo')
    files = read_tree(w, form)
    as_verbs_say(w, files)
    gids_as_listed(w, files)
    need(files['node'] == [True, 2], f'no character device that one may read and write: {files["node"]}')
    uid, gid = (w.uid, w.gid) if w.uid is not None else (os.getuid(), os.getgid())
    need(files['ids'] == [uid, uid, gid, gid], f'another user: {files["ids"]}')


@row('sysview: root keeps its rights, and /sys/class all that was in it')
def _(w):
    if os.getuid() != 0:
        raise Skipped('needs root')
    before = set(os.listdir('/sys/class')) | {'infiniband', 'infiniband_verbs'}
    text = w.start(['ls', '/sys/class'], as_root=True).expect(5)
    need(set(text.split()) == before, f'{before ^ set(text.split())}')
    need(not os.path.exists('/sys/class/infiniband'), 'it is seen outside')
    w.start(['mknod', f'{w.work}/null', 'c', '1', '3'], as_root=True).expect(5)


@row('sysview: root of a user namespace, whose number has files of another root')
def _(w):
    need_program('unshare')
    if w.uid is None:
        raise Skipped('the other root is the real one')
    w.start(['sh', '-c', 'test -d /tmp/softverbs-0 || mkdir -m 755 /tmp/softverbs-0'], via='none', as_root=True).expect(5)
    command = [f'{w.product}/softverbs', 'run', '--', 'cat', '/sys/class/infiniband/sv_lo/ports/1/link_layer']
    process = w.start(['unshare', '--user', '--map-root-user', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', *command],
                      via='none')
    if process.wait(10) == 1 and 'unshare failed' in process.text():
        raise Skipped('no user namespaces')
    need(process.expect(1) == 'Ethernet\n', process.text())


@row('sysview: programs that no library reaches')
def _(w):
    need_program('busybox')
    process = w.start(['busybox', 'cat', '/sys/class/infiniband/sv_lo/node_type'])
    if process.wait(5) == 1 and os.getuid() != 0:
        raise Skipped(f'no user namespaces here: {process.text()}')
    need(process.expect(5) == '1: CA\n', process.text())


@row('sysview: rdma link, rdma dev')
def _(w):
    need_program('rdma')
    links = json.loads(w.start(['rdma', 'link', 'show', '-j']).expect(5))
    devices = json.loads(w.softverbs('devices', '--json'))['devices']
    need({(x['ifname'], x['port'], x['netdev'], x['netdev_index'], x['state']) for x in links} ==
         {(d['name'], 1, d['netdev'], d['ifindex'], d['state']) for d in devices if d['ifindex']}, f'{links}\n{devices}')
    text = w.start(['rdma', 'dev', 'show', 'sv_lo']).expect(5)
    need('node_type ca' in text and 'fw 0.1.0' in text, text)
    only = w.start([f'{w.product}/softverbs', 'run', '--device', 'sv_lo', '--', 'rdma', 'link', 'show', '-j'], via='none').expect(5)
    need([x['ifname'] for x in json.loads(only)] == ['sv_lo'], only)
    for nobody in (['rdma', 'link', 'show', 'sv_none/1'], ['rdma', 'link', 'add', 'x', 'type', 'rxe', 'netdev', 'lo']):
        if w.start(nobody).wait(5) in (0, None):
            raise Failed(f'{nobody} succeeds')
