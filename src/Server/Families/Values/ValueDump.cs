using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes a value in the format of DUMP, as it is at the instant of the first step; a long one in
/// steps.</summary>
/// <remarks>
/// The key of a large collection is held until the value is written; the checksum is made afterwards. For a string in a
/// block nothing is held but a reference to that block, which nobody then changes. The payload is charged as it grows.
/// May be used for one value after another, until one fails. Threads: one at a time; another thread that needs the key
/// writes the rest (<see cref="HeldUse"/>).
/// </remarks>
internal sealed class ValueDump(Store store, bool compresses, StepsOwner owner) : IHeldUse, IDisposable
{
    private const long BytesMax = 256 * 1024, WorkPerStep = 2048, ChecksumBytesPerStep = 256 * 1024;

    private readonly RdbValueWriter _writer = new(store);
    private IHeldSteps? _work;
    private Block _text;
    private PartialChecksum _sum;

    /// <summary>The payload, complete once <see cref="Step"/> has returned true; or why it could not be
    /// written.</summary>
    public RdbOutput Output => _writer.Output;

    /// <summary>Whether the key is held.</summary>
    public bool Holds => _work is { IsDone: false };

    /// <inheritdoc/>
    public bool HasChanged => false;

    /// <inheritdoc/>
    public string WorkName => owner.Text;

    /// <summary>Whether writing a value takes longer than a turn may.</summary>
    public static bool IsLong(in HeldKey held) =>
        held.Value.View.FootprintBytes > BytesMax && (!held.Value.View.Block.IsNone || held.Value.HoldsRegion);

    /// <summary>Begins with a value that can be written in steps: a string in a block, a large collection.</summary>
    /// <returns>False when the value is neither, or no more work in steps can begin.</returns>
    public bool TryBegin(in HeldKey held)
    {
        ValueView value = held.Value.View;
        Block text = value.Block;
        if (text.IsNone && !held.Value.HoldsRegion) return false;
        // Addresses cost nothing, and with enough of them the payload need not be copied to a larger block.
        Begin(4 * value.FootprintBytes);
        if (text.IsNone) return (_work = held.TryBeginUse(this)) != null;
        text.AddReference();
        _text = text;
        return true;
    }

    /// <summary>Begins with any value; one that cannot be written in steps is written at once.</summary>
    public void BeginAny(in HeldKey held)
    {
        if (TryBegin(held)) return;
        ValueView value = held.Value.View;
        Begin(value.FootprintBytes + (value.FootprintBytes / 4));
        _writer.Write(value);
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held) => _writer.Write(held.View(0), WorkPerStep) || Output.Status != StoreStatus.Ok;

    /// <summary>Writes a piece.</summary>
    /// <returns>True when nothing is left to write. False may also mean that another thread is just writing the
    /// rest.</returns>
    public bool Step()
    {
        Debug.Assert(_text.IsNone || _work == null, "it is a string, or a collection");
        if (_work == null && _text.IsNone)
            return Output.Status != StoreStatus.Ok || DumpPayload.TryFinish(Output, ref _sum, ChecksumBytesPerStep);

        if (!(_work == null ? _writer.WriteString(_text.Span, WorkPerStep) : _work.Step())) return false;
        if (_work?.Failure is { } failure) throw failure;
        LetGo();
        return false;
    }

    public void Dispose()
    {
        LetGo();
        _writer.Dispose();
    }

    private void Begin(long expectedBytes)
    {
        Debug.Assert(_work == null && _text.IsNone, "it begins once");
        _sum = default;
        Output.Begin(compresses, expectedBytes + RdbOutput.BufferBytes);
    }

    private void LetGo()
    {
        _work?.Dispose();
        _work = null;
        if (!_text.IsNone) store.Release(_text);
        _text = default;
    }
}
