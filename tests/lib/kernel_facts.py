# SPDX-License-Identifier: MIT
"""
The features that a kernel has for a tracer, found by using them, on this machine or on an emulated one. Tests check
their requirements with it, and tables of measurements name them. Tracers are tried in an instance, where some kernels
refuse what they allow outside.

    facts(here)                                     # this machine
    facts(lambda script: machine.run(script).out)   # an emulated one (machine.py)
"""
import subprocess
from waits import finished

# Each line of its output is KEY=VALUE; the value of a missing feature is `no`. The script leaves nothing behind, and
# changes no state that others use.
SCRIPT = r'''
tracing=/sys/kernel/tracing
fact() { echo "$1=$2"; }
first() { cat "$1" 2>/dev/null || echo no; }
can() { if (eval "$2") 2>/dev/null; then fact "$1" yes; else fact "$1" no; fi; }
flag() { grep -qm1 "^flags.* $2\b" /proc/cpuinfo && fact "$1" yes || fact "$1" no; }

fact kernel "$(uname -r)"
fact cpus "$(grep -c '^processor' /proc/cpuinfo)"
fact clocksource "$(first /sys/devices/system/clocksource/clocksource0/current_clocksource)"
flag constant_tsc constant_tsc
flag nonstop_tsc nonstop_tsc
flag hypervisor hypervisor
fact lockdown "$(first /sys/kernel/security/lockdown)"
fact paranoid "$(first /proc/sys/kernel/perf_event_paranoid)"
can btf '[ "$(head -c 2 /sys/kernel/btf/vmlinux | wc -c)" = 2 ]'
can tracefs "test -w $tracing/trace_marker"
fact trace_clocks "$(sed 's/[][]//g' $tracing/trace_clock 2>/dev/null || echo no)"
fact events "$(grep -c . $tracing/available_events 2>/dev/null || echo no)"
can syscalls "test -d $tracing/events/syscalls/sys_enter_openat"
can kprobes ": >>$tracing/kprobe_events"
can uprobes ": >>$tracing/uprobe_events"
fact page_kb "$(first $tracing/buffer_subbuf_size_kb)"
instance=$tracing/instances/wmkt-facts-$$
if mkdir "$instance" 2>/dev/null; then
	fact instances yes
	can set_event_pid "echo 1 >$instance/set_event_pid"
	can set_event_notrace_pid "echo 1 >$instance/set_event_notrace_pid"
	can buffer_percent "echo 50 >$instance/buffer_percent"
	for tracer in function function_graph; do
		can $tracer "echo vfs_open >$instance/set_ftrace_filter && echo $tracer >$instance/current_tracer"
		echo nop >"$instance/current_tracer" 2>/dev/null
	done
	rmdir "$instance"
else
	fact instances no
fi
'''


def here(script):
    return finished(['sh', '-c', script], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def facts(run):
    """
    {key: value}, both texts; `yes` and `no` for features without a value. `run` runs a script in a shell and returns
    its output.
    """
    return dict(line.split('=', 1) for line in run(SCRIPT).splitlines() if '=' in line)
