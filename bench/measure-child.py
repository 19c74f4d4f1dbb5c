# Runs one command and writes what it took as one line of JSON. Node cannot ask for a single child's peak memory; wait4
# can. The clock starts after this interpreter has, so its own start is not counted.
#   python3 -I -S measure-child.py RESULT STDOUT STDERR TIMEOUT command args...
import json, os, signal, sys, time

result, out, err, timeout, *command = sys.argv[1:]
write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
actions = [
    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, out, write, 0o644),
    (os.POSIX_SPAWN_OPEN, 2, err, write, 0o644),
]
child = 0
timed_out = False


def stop(number, frame):
    global timed_out
    timed_out = number == signal.SIGALRM
    if child:
        os.killpg(child, signal.SIGKILL)


for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, stop)
start = time.perf_counter()
# A group of its own, so that a stop reaches whatever the command started.
child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setpgroup=0)
signal.alarm(int(timeout))
# What it asked for, with its children, is only there until it is waited for.
asked = 0
if os.path.exists("/proc/self/io"):
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{child}/io") as counts:
        asked = next(int(line.split()[1]) for line in counts if line.startswith("rchar:"))
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - start
signal.alarm(0)
unit = 1 if sys.platform == "darwin" else 1024
with open(result, "w") as file:
    json.dump(
        {
            "seconds": seconds,
            "cpuSeconds": usage.ru_utime + usage.ru_stime,
            "peakMemoryBytes": usage.ru_maxrss * unit,
            # Blocks of 512 bytes that came from the disk, page faults included.
            "diskBytes": usage.ru_inblock * 512,
            "askedBytes": asked,
            "exit": os.waitstatus_to_exitcode(status),
            "timedOut": timed_out,
        },
        file,
    )
