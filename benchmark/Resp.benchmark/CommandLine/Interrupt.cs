using System.Runtime.InteropServices;

namespace RespBenchmark.CommandLine;

/// <summary>SIGINT and SIGTERM: the first asks what runs to stop, so that what was measured is reported; the second
/// ends the process as if nobody listened.</summary>
/// <remarks>Threads: signals come on a thread of the runtime; all state is under the lock.</remarks>
internal sealed class Interrupt : IDisposable
{
    private readonly Lock _lock = new();
    private readonly ManualResetEventSlim _raised = new();
    private PosixSignalRegistration? _int, _term;
    private Action? _stop;

    /// <summary>Whether a signal came.</summary>
    public bool Requested => _raised.IsSet;

    /// <summary>Listens to the process's signals until disposed.</summary>
    public static Interrupt Listen()
    {
        var interrupt = new Interrupt();
        interrupt._int = PosixSignalRegistration.Create(PosixSignal.SIGINT, interrupt.Handle);
        interrupt._term = PosixSignalRegistration.Create(PosixSignal.SIGTERM, interrupt.Handle);
        return interrupt;
    }

    /// <summary>Does what a signal does. False: it was not the first.</summary>
    public bool Raise()
    {
        lock (_lock)
        {
            if (_raised.IsSet) return false;
            _raised.Set();
            _stop?.Invoke();
            return true;
        }
    }

    /// <summary>Calls <paramref name="stop"/> when a signal comes, at once if it came already, until the result is
    /// disposed.</summary>
    public IDisposable OnRequest(Action stop)
    {
        lock (_lock)
        {
            _stop = stop;
            if (_raised.IsSet) stop();
        }

        return new Detach(this);
    }

    /// <summary>Waits for a signal. False: the time passed first.</summary>
    public bool Wait(TimeSpan timeout) => _raised.Wait(timeout);

    public void Dispose()
    {
        _int?.Dispose();
        _term?.Dispose();
        _raised.Dispose();
    }

    private void Handle(PosixSignalContext context) => context.Cancel = Raise();

    private sealed class Detach(Interrupt interrupt) : IDisposable
    {
        public void Dispose()
        {
            lock (interrupt._lock) interrupt._stop = null;
        }
    }
}
