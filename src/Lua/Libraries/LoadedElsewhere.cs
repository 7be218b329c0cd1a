using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>load and loadstring of a text that takes long to compile: another thread does it
/// (<see cref="LuaMachine.Elsewhere"/>), and the script is put aside until it has.</summary>
/// <remarks>Threads: the machine's, but for <see cref="Compile"/>. What that leaves is seen once it is done.</remarks>
internal sealed class LoadedElsewhere(ReadOnlyMemory<byte> text, string name) : Continuation
{
    /// <summary>Shorter ones are compiled at once: some ms.</summary>
    public const int TextBytesMin = 16 << 10;

    /// <summary>So long the machine waits in each of its turns: else a host with nothing else to do would ask for the
    /// end without a pause, on the processor that is to bring it about.</summary>
    private const int WaitMs = 1;

    private readonly ManualResetEventSlim _done = new();
    private readonly CancellationTokenSource _cancel = new();
    private LuaChunk? _chunk;
    private Exception? _failure;

    /// <summary>Begins it.</summary>
    public int Begin(ref LuaCall call)
    {
        Debug.Assert(call.Machine.Loading == null, "a script does one thing at a time");
        call.Machine.Loading = this;
        call.Machine.Elsewhere!(text.Length, Compile);
        return call.Pause(this);
    }

    public override int Resume(ref LuaCall call, int at, int count)
    {
        if (!_done.Wait(WaitMs))
        {
            call.EndTurn();
            return call.Pause(this);
        }

        call.Machine.Loading = null;
        return _failure switch
        {
            null => BaseLibrary.Loaded(ref call, _chunk!),
            LuaException error => call.Return(LuaValue.Nil, error.Value),
            OutOfMemoryException => call.Return(LuaValue.Nil, new LuaString("not enough memory")),
            _ => throw new InvalidOperationException("A text could not be compiled.", _failure),
        };
    }

    /// <summary>The script has ended before it: it ends soon.</summary>
    public void Cancel() => _cancel.Cancel();

    private void Compile()
    {
        try
        {
            _chunk = LuaChunk.Of(LuaText.Read(text.Span, name, _cancel.Token));
        }
        catch (Exception failure)
        {
            _failure = failure;     // the script's to hear
        }

        _done.Set();
    }
}
