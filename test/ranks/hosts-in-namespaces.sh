#!/bin/sh
# Several hosts on one machine: each is a network namespace with an address and a name of its own, on one bridge.
#   hosts-in-namespaces.sh up PREFIX COUNT    makes them; PREFIX is of up to 6 letters, and names all that is made
#   hosts-in-namespaces.sh enter PREFIX HOST COMMAND…    runs a command on a host, which is named by its address
#   hosts-in-namespaces.sh cut PREFIX HOST    takes a host off the bridge
#   hosts-in-namespaces.sh down PREFIX COUNT  removes them
# Addresses are 10.77.0.1 and so on. `mpirun --mca plm_rsh_agent "hosts-in-namespaces.sh enter PREFIX"` starts ranks there.
set -eu
action=$1 prefix=$2
shift 2

case $action in
up)
  ip link add "$prefix-br" type bridge
  ip link set "$prefix-br" up
  for host in $(seq "$1"); do
    space=$prefix-$host
    ip netns add "$space"
    ip link add "$prefix-v$host" type veth peer name "$prefix-w$host"
    ip link set "$prefix-w$host" netns "$space"
    ip link set "$prefix-v$host" master "$prefix-br" up
    ip -n "$space" address add "10.77.0.$host/24" dev "$prefix-w$host"
    ip -n "$space" link set "$prefix-w$host" up
    ip -n "$space" link set lo up
  done
  ;;
enter)
  host=${1##*.}
  shift
  # What a launcher hands over is one line of shell.
  ip netns exec "$prefix-$host" unshare --uts sh -c 'hostname "$0" && shift 0 && exec sh -c "$*"' "$prefix-$host" "$@"
  ;;
cut)
  ip link set "$prefix-v${1##*.}" nomaster
  ;;
down)
  for host in $(seq "$1"); do
    ip netns del "$prefix-$host" 2>/dev/null || true
    ip link del "$prefix-v$host" 2>/dev/null || true
  done
  ip link del "$prefix-br" 2>/dev/null || true
  ;;
esac
