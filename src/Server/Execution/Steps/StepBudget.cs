using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What one step of a long command may still do: elements, bytes of the reply, time.</summary>
/// <remarks>
/// The first elements are granted whatever the clock says, so each step gets on.
/// </remarks>
internal struct StepBudget : IStepBudget
{
    /// <summary>A command about more elements is done in steps.</summary>
    public const int OneTurnMax = 4096;

    /// <summary>So many elements: some 100 us where they are in no cache, but come one after another.</summary>
    public const int ElementsMax = IStepBudget.WholePiece;

    /// <summary>And so many bytes of the reply.</summary>
    public const int BytesMax = 256 * 1024;

    private readonly CollectedReply? _collected;
    private readonly OutputBuffer? _output;
    private readonly long _bytesEnd;
    private StepClock _clock = new();
    private long _left = ElementsMax;

    /// <summary>Of a command whose reply is collected.</summary>
    public StepBudget(CollectedReply reply)
    {
        _collected = reply;
        _bytesEnd = Bytes + BytesMax;
    }

    /// <summary>Of a command that answers as it goes.</summary>
    public StepBudget(OutputBuffer output)
    {
        _output = output;
        _bytesEnd = Bytes + BytesMax;
    }

    private readonly long Bytes => _collected?.Bytes ?? _output!.Length;

    /// <summary>Has the clock asked before anything more is granted: what was done last may have been long.</summary>
    public void AskClock() => _clock.AskNext();

    /// <summary>Asks for elements.</summary>
    /// <param name="count">Some tens at most.</param>
    /// <returns>False: the step has to end.</returns>
    public bool TryTake(long count = 1)
    {
        Debug.Assert(count > 0, "something is asked for");
        if (_left <= 0 || Bytes >= _bytesEnd) return false;
        if (!_clock.HasTime(count) && _left < ElementsMax) return false;
        _left -= count;
        return true;
    }

    /// <inheritdoc/>
    public static bool IsBounded => true;
}
