# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/packages/image: runs an unpacked image as a container engine would, with programs of util-linux.
# Expects $work with the folder `root`, and what image_config.py writes there, and $tag, the name of the image.

fail() { echo "FAILED: $*" >&2; exit 1; }
step() { echo "-- $*"; }
tenths() { echo $(((${EPOCHREALTIME/./} - $1) / 100000)); }
text() { echo "$(($1 / 10)).$(($1 % 10)) s"; }

address=192.0.2.1  # of the container; the outside is 192.0.2.2
as_user=(--reuid=iqd --regid=iqd --init-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs)
# As containers/kubernetes/realtime.
as_root=(--groups=9464 --inh-caps=-all --ambient-caps=-all --bounding-set=-all,+sys_nice,+ipc_lock --no-new-privs)

# enter WORK COMMAND…: becomes COMMAND in the root file system of the image, which is read-only but for its volumes.
enter() {
  local work=$1 root=$1/root device
  shift
  ip link set lo up
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind -o ro /sys "$root/sys"
  mount -t tmpfs -o mode=755 dev "$root/dev"
  for device in null zero full random urandom; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir "$root/dev/shm"
  mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
  mount -t tmpfs -o mode=1777 tmp "$root/tmp"
  mount --bind "$work/pipelines" "$root/etc/iqd"
  mount --bind "$work/state" "$root/var/lib/iqd"
  mount -o remount,bind,ro "$root"
  exec chroot "$root" "$@"
}
export -f enter

# start_container [--root] COMMAND…: sets $iqd, its process here (1 in the container), and $outer, a process outside.
start_container() {
  local rights=("${as_user[@]}")
  if [[ $1 == --root ]]; then rights=("${as_root[@]}"); shift; fi
  started=${EPOCHREALTIME/./}
  unshare --mount --propagation private --pid --net --fork --kill-child bash -euo pipefail -c 'enter "$@"' bash \
    "$work" setpriv "${rights[@]}" env -i --chdir="$(<"$work/folder")" "${environment[@]}" "$@" >"$work/log" 2>&1 &
  container=$!
  unshare --net sleep 600 &
  outer=$!
  wait_for 20 eval '[[ -n $(children) && $(readlink /proc/$outer/ns/net) != "$(readlink /proc/self/ns/net)" ]]'
  iqd=$(children)
  wait_for 50 eval '[[ $(cat /proc/$iqd/comm) == iqd ]]'
  nsenter --target "$outer" --net bash -euo pipefail -c '
    ip link add outer type veth peer name inner netns "$1"
    ip address add 192.0.2.2/24 dev outer
    ip link set outer up' bash "$iqd"
  nsenter --target "$iqd" --net bash -c "ip address add $address/24 dev inner && ip link set inner up"
}
children() { tr -d ' ' <"/proc/$container/task/$container/children"; }
# wait_for TENTHS COMMAND…: until it succeeds.
wait_for() {
  local limit=$1 i
  shift
  for ((i = 0; i < limit; ++i)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  cat "$work/log"
  fail "waited $(text "$limit") for: $*"
}

# inside COMMAND…: as `podman exec`. outside COMMAND…: the same, but with another network address.
inside() { in_container --net "$@"; }
outside() { in_container --net="/proc/$outer/ns/net" "$@"; }
in_container() {
  local net=$1
  shift
  nsenter --target "$iqd" --mount --pid --root "$net" setpriv "${as_user[@]}" env -i --chdir=/ "${environment[@]}" "$@"
}
# probed_with STATUS PATH: what the kubelet gets.
probed_with() {
  outside bash -c '
    exec 3<>"/dev/tcp/$1/9464"
    printf "GET %s HTTP/1.0\r\n\r\n" "$3" >&3
    read -r line <&3
    [[ $line == *" $2 "* ]]' bash "$address" "$@"
}

# restricted: the process iqd has its own user, no capability, and cannot get any.
restricted() {
  local line
  while read -r line; do
    tr -s '\t' ' ' <"/proc/$iqd/status" | grep -xF "$line" >/dev/null ||
      fail "not '$line': $(grep "^${line%%:*}" "/proc/$iqd/status")"
  done <<'EOF'
Uid: 9464 9464 9464 9464
Gid: 9464 9464 9464 9464
CapInh: 0000000000000000
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1
EOF
}

# stop_container SIGNAL: sets $code, its exit code, and $took, in tenths of a second.
stop_container() {
  local start=${EPOCHREALTIME/./}
  code=0
  kill -s "${1#SIG}" "$iqd"
  wait "$container" || code=$?
  took=$(tenths "$start")
  kill "$outer" && wait "$outer" || true
  container='' outer=''
}
clean_up() {
  local each
  for each in ${container:-} ${outer:-}; do kill -KILL "$each" 2>/dev/null && wait "$each" 2>/dev/null || true; done
  rm -rf "$work"
}

# run_in ENGINE ARCHIVE: with the options of docs/containers.md, where podman or docker can start a container at all.
run_in() {
  local engine=$1 name=iqd-test-$$ said=$work/said
  if ! "$engine" info >/dev/null 2>&1; then echo "SKIPPED: no $engine runs here"; return; fi
  "$engine" load --input "$2" >"$said" 2>&1 || { cat "$said"; fail "$engine load"; }
  grep -qF "$tag" "$said" || { cat "$said"; fail "$engine has not found the name"; }
  if ! "$engine" run --detach --name "$name" --read-only --cap-drop=all --security-opt=no-new-privileges \
    --health-cmd='iqd ready' --health-interval=1s --publish 127.0.0.1::9464 "$tag" >"$said" 2>&1; then
    { "$engine" rm --force "$name"; "$engine" rmi "$tag"; } >/dev/null 2>&1 || true
    echo "SKIPPED: $engine cannot start a container here: $(tail -n 1 "$said" | cut -c1-160)"
    return
  fi
  # Without systemd, podman checks the health only when it is asked to.
  if [[ $engine == podman ]]; then
    wait_for 100 podman healthcheck run "$name"
  else
    wait_for 100 eval "[[ \$($engine inspect --format '{{.State.Health.Status}}' $name) == healthy ]]"
  fi
  "$engine" stop --time 5 "$name" >/dev/null
  [[ $("$engine" inspect --format '{{.State.ExitCode}}' "$name") == 0 ]] || fail "$engine stop: exit code is not 0"
  "$engine" rm --volumes "$name" >/dev/null
  "$engine" rmi "$tag" >/dev/null
  echo "healthy in $engine"
}
