# A real S3 server for tests: OpenStack Swift with its s3api, from the Debian package python3-swift. Runs in this one
# process, on free loopback ports and in a folder that the caller provides and removes. Prints its port when it listens,
# and exits when its standard input closes.
import eventlet

eventlet.monkey_patch()

import os
import sys

import eventlet.wsgi
from swift.common import utils

folder, access_key, secret_key = sys.argv[1:]
# Must be set before importing modules that hash paths; there is no /etc/swift here.
utils.SWIFT_CONF_FILE = os.path.join(folder, "swift.conf")
with open(utils.SWIFT_CONF_FILE, "w") as conf:
    conf.write("[swift-hash]\nswift_hash_path_suffix = tests\n")
utils.HASH_PATH_SUFFIX = b"tests"

from swift.common.ring import RingBuilder
from swift.common.wsgi import loadapp

os.makedirs(os.path.join(folder, "disks", "sda1"))
sockets = {
    name: eventlet.listen(("127.0.0.1", 0), backlog=256)
    for name in ("account", "container", "object", "proxy")
}

for name in ("account", "container", "object"):
    ring = RingBuilder(4, 1, 0)
    port = sockets[name].getsockname()[1]
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "sda1", "weight": 1})
    ring.rebalance()
    ring.get_ring().save(os.path.join(folder, name + ".ring.gz"))
    with open(os.path.join(folder, name + ".conf"), "w") as conf:
        conf.write(
            f"""
[DEFAULT]
swift_dir = {folder}
devices = {folder}/disks
mount_check = false
fallocate_reserve = 0
# Nobody repeats what is not listed in time, and on a busy machine all of this waits for its turn.
conn_timeout = 30
node_timeout = 30
container_update_timeout = 30
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""
        )

user, account = access_key.split(":")[::-1]
with open(os.path.join(folder, "proxy.conf"), "w") as conf:
    conf.write(
        f"""
[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
# Nobody listens there: nothing is cached.
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
allow_multipart_uploads = false
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret_key} .admin
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
conn_timeout = 30
node_timeout = 30
recoverable_node_timeout = 30
# There is no other to go to.
error_suppression_limit = 1000000
"""
    )

with open(os.devnull, "w") as nowhere:
    for name, socket in sockets.items():
        app = loadapp(os.path.join(folder, name + ".conf"), global_conf={"log_name": name})
        eventlet.spawn(eventlet.wsgi.server, socket, app, log=nowhere, max_size=256)
    print(sockets["proxy"].getsockname()[1], flush=True)
    eventlet.tpool.execute(sys.stdin.buffer.read)
