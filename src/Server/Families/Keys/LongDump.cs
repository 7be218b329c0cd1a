using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>DUMP of a long value, in steps: as it is at the instant of the first one.</summary>
/// <remarks>
/// The key is held until the value is written; its checksum comes behind that. Of a string nothing is held but a reference to its block,
/// which nobody changes. What is written is in a block, charged as it grows, and sent without a copy.
/// Threads: the session's; where another one needs the key, it writes the rest (<see cref="LongUse"/>).
/// </remarks>
internal sealed class LongDump : ICommandSteps, ILongUse, IDisposable
{
    private const long BytesMax = 256 * 1024, WorkPerStep = 2048, ChecksumBytesPerStep = 256 * 1024;

    private readonly Store _store;
    private readonly RdbValueWriter _writer;
    private readonly StepsOwner _owner;
    private LongUse? _work;
    private Block _text;
    private PartialChecksum _sum;

    private LongDump(ref CommandContext context, in ValueView value)
    {
        _store = context.Server.Store;
        _owner = new StepsOwner(context);
        _writer = new RdbValueWriter(_store);
        // Addresses cost nothing: whatever it becomes, it need not be copied to a larger block.
        _writer.Output.Begin(context.Server.Options.RdbCompression, (4 * value.FootprintBytes) + RdbOutput.BufferBytes);
    }

    /// <inheritdoc/>
    public bool HasChanged => false;

    /// <inheritdoc/>
    public bool Holds => _work is { IsDone: false };

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    /// <summary>Begins, if the value is long.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held)
    {
        ValueView value = held.Value.View;
        Block text = value.Block;
        if (context.InTransaction || value.FootprintBytes <= BytesMax || (text.IsNone && !held.Value.HoldsRegion)) return false;
        var dump = new LongDump(ref context, value);
        if (!text.IsNone)
        {
            text.AddReference();
            dump._text = text;
        }
        else if ((dump._work = held.TryBeginUse(dump)) == null)
        {
            dump.Dispose();
            return false;
        }

        context.Continue(dump);
        return true;
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held) => _writer.Write(held.View(0), WorkPerStep) || _writer.Output.Status != StoreStatus.Ok;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_work != null || !_text.IsNone)
        {
            if (!(_work == null ? _writer.WriteString(_text.Span, WorkPerStep) : _work.Step())) return false;
            if (_work?.Failure is { } failure) throw failure;
            LetGo();
            return false;
        }

        var status = _writer.Output.Status;
        if (status == StoreStatus.Ok && !DumpPayload.TryFinish(_writer.Output, ref _sum, ChecksumBytesPerStep)) return false;
        Answer(ref context, _writer.Output.Status);
        Dispose();
        return true;
    }

    public void Dispose()
    {
        LetGo();
        _writer.Dispose();
    }

    private void LetGo()
    {
        _work?.Dispose();
        _work = null;
        if (!_text.IsNone) _store.Release(_text);
        _text = default;
    }

    private void Answer(ref CommandContext context, StoreStatus status)
    {
        if (status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(status));
        }
        else if (_writer.Output.IsInBlock)
        {
            Block block = _writer.Output.TakeBlock(out int first);
            context.Output.WriteBlock(context.Reply, block, first, (int)block.Length - first);
        }
        else
        {
            context.Reply.WriteBulk(_writer.Output.Written);
        }
    }
}
