using System.Diagnostics;

namespace Kv.Server.Diagnostics;

/// <summary>A command that goes on in later turns, as the slow log is going to show it if its turns together are slow:
/// the arguments are gone by then.</summary>
/// <remarks>Threads: those of the session, one at a time.</remarks>
internal sealed class SlowCall : IDisposable
{
    private const int FixedBytes = 48 + 24;

    private readonly SlowLog _log;
    private readonly byte[] _arguments;
    private bool _isOver;

    public SlowCall(SlowLog log, byte[] arguments)
    {
        (_log, _arguments) = (log, arguments);
        log.ChargeHeld(FixedBytes + arguments.Length);
    }

    /// <summary>How long its turns were, so far.</summary>
    public long Ticks { get; set; }

    /// <summary>The command is done: adds it to the log if it was slow.</summary>
    public void End(string address, byte[]? name)
    {
        Debug.Assert(!_isOver, "a command ends once");
        if (_log.IsSlow(Ticks)) _log.Add(_arguments, Ticks, address, name);
        Dispose();
    }

    public void Dispose()
    {
        if (_isOver) return;
        _isOver = true;
        _log.ChargeHeld(-(FixedBytes + _arguments.Length));
    }
}
