"""Commands in a group of their own."""

import math
import os
import sys
import threading
import time
from functools import partial

import pytest
from driven import is_running, wait_until

from loop_close.child import Channel, Child, InterruptionError, Stop, _Output, end_leftover, run
from loop_close.process import birth_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no process groups")


def child(tmp_path, code, **options):
    pass_on = options.pop("pass_on", None)
    channels = [Channel(partial(pass_on, number)) for number in (1, 2)] if pass_on else []
    words = [sys.executable, "-c", code]
    return Child(words=words, root=tmp_path, environment=os.environ, channels=channels, **options)


class Heard:
    """What was passed on."""

    def __init__(self):
        self.out = b""
        self.err = b""

    def __call__(self, number, data):
        if number == 1:
            self.out += data
        else:
            self.err += data


def test_what_it_prints_is_passed_on_and_its_answer_is_kept(tmp_path):
    heard = Heard()
    code = "import sys; print('said'); print('told', file=sys.stderr); sys.exit(5)"
    done = run(child(tmp_path, code, pass_on=heard), Stop())
    assert (done.exit_code, done.output, done.is_late) == (5, "said\n", False)
    assert (heard.out, heard.err) == (b"said\n", b"told\n")


def test_more_than_a_pipe_holds_in_both_directions(tmp_path):
    heard = Heard()
    data = b"x" * 3_000_000
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    done = run(child(tmp_path, code, data=data, pass_on=heard), Stop())
    assert heard.out == data
    assert done.output == data.decode()


def test_unread_input_does_not_block(tmp_path):
    done = run(child(tmp_path, "pass", data=b"x" * 3_000_000, pass_on=Heard()), Stop())
    assert done.exit_code == 0


def test_only_the_end_of_a_long_answer_is_kept(tmp_path):
    code = "import sys\nfor _ in range(9): sys.stdout.write('x' * 1_000_000)\nprint('end')"
    done = run(child(tmp_path, code, pass_on=Heard()), Stop())
    assert len(done.output) <= 4_000_001
    assert done.output.endswith("xend\n")


def test_there_is_no_terminal_to_ask(tmp_path):
    code = "open('/dev/tty')"
    assert run(child(tmp_path, code, pass_on=Heard()), Stop()).exit_code == 1


def test_signal_gives_the_exit_code_of_a_shell(tmp_path):
    done = run(child(tmp_path, "import os; os.kill(os.getpid(), 15)"), Stop())
    assert done.exit_code == 143


def test_who_holds_the_pipe_is_not_waited_for(tmp_path):
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print(p.pid)"
    )
    done = run(child(tmp_path, code, pass_on=Heard()), Stop())
    assert not is_running(int(done.output))


def test_who_ignores_what_it_is_asked_is_made_to_end(tmp_path):
    code = (
        "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\ntime.sleep(600)"
    )
    heard = Heard()
    done = run(
        child(tmp_path, code, pass_on=heard, seconds=1.0, graces=(("SIGINT", 0.1), ("SIGTERM", 0.1))), Stop()
    )
    assert done.is_late
    assert done.exit_code == 128 + 9


def test_time_that_is_over_lets_it_say_what_it_knows(tmp_path):
    code = (
        "import time\nprint('begun', flush=True)\n"
        "try:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    print('last words')"
    )
    done = run(child(tmp_path, code, pass_on=Heard(), seconds=3.0), Stop())
    assert (done.output, done.is_late) == ("begun\nlast words\n", True)


def test_nothing_starts_after_a_stop(tmp_path):
    stop = Stop()
    stop.asked = 1
    with pytest.raises(InterruptionError):
        run(child(tmp_path, f"open({str(tmp_path / 'hit')!r}, 'w')"), stop)
    assert not (tmp_path / "hit").exists()


def test_stop_in_between_ends_it(tmp_path):
    stop, pids = Stop(), []
    threading.Timer(0.5, lambda: setattr(stop, "asked", 1)).start()
    with pytest.raises(InterruptionError):
        run(
            child(tmp_path, "import time; time.sleep(600)", started=lambda process: pids.append(process.pid)),
            stop,
        )
    assert not is_running(pids[0])


def test_command_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        run(Child(words=["no-such-command"], root=tmp_path, environment=os.environ), Stop())


def test_reused_process_number_is_left_alone(tmp_path):
    assert not end_leftover(os.getpid(), "another")
    assert not end_leftover(os.getpid(), "")
    assert not end_leftover(0, "x")


def test_leftover_is_ended(tmp_path):
    import subprocess

    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with process:
        wait_until(lambda: is_running(process.pid))
        assert end_leftover(process.pid, birth_of(process.pid)) == bool(birth_of(process.pid))
        process.kill()


def test_no_limit_is_infinite(tmp_path):
    assert child(tmp_path, "").seconds == math.inf


def test_what_never_stops_writing_is_left_after_the_end():
    class Endless:
        def __init__(self):
            self.ours, self.theirs = os.pipe()
            os.write(self.theirs, b"x")
            self.is_closed, self.taken = False, 0

        def pass_on(self):
            time.sleep(0.001)
            self.taken += 65_536  # what was written stays, so that there is always something to read
            return 65_536

        def close(self):
            os.close(self.ours)
            os.close(self.theirs)
            self.is_closed = True

    endless = Endless()
    output = _Output([endless])
    output.start()
    before = endless.taken
    output.finish(math.inf)
    assert endless.is_closed
    assert 1_048_576 <= endless.taken - before < 4_000_000  # at least as much as a pipe may hold
    assert output.closed.is_set()


def test_rest_of_a_group_goes_on_where_it_is_to_be_kept(tmp_path):
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print(p.pid)"
    )
    pid = int(run(child(tmp_path, code, pass_on=Heard(), keeps_rest=True), Stop()).output)
    assert is_running(pid)
    os.kill(pid, 9)
