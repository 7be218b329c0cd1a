using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>PFDEBUG: what a HyperLogLog is inside.</summary>
internal static class HyperLogLogDebug
{
    /// <summary>Handles the command.</summary>
    public static void PfDebug(ref CommandContext context)
    {
        var word = context.Args.NextBytes();
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        bool getsRegisters = CommandName.Equal("GETREG"u8, word), makesDense = CommandName.Equal("TODENSE"u8, word);
        bool decodes = CommandName.Equal("DECODE"u8, word);
        var inspect = new Inspect(context.Store.Draft) { MakesDense = getsRegisters
            || makesDense, Copies = getsRegisters || decodes };
        var status = context.Store.Update(key, DataType.String, ref inspect);
        if (inspect.HasChanged && status == StoreStatus.Ok) context.CountChanges(1);
        if (status == StoreStatus.NotFound) context.Fail("ERR The specified key does not exist"u8);
        else if (status != StoreStatus.Ok) context.Fail(Errors.For(status));
        else if (inspect.Status != HyperLogLogStatus.Ok) context.Fail(Errors.For(inspect.Status));
        else if (getsRegisters) WriteRegisters(context.Reply, inspect.Draft.Text[HyperLogLog.HeaderBytes..]);
        else if (makesDense) context.Reply.WriteInteger(inspect.HasChanged ? 1 : 0);
        else if (CommandName.Equal("ENCODING"u8, word))
            context.Reply.WriteSimple(inspect.WasDense ? "dense"u8 : "sparse"u8);
        else if (!decodes)
            context.Fail((byte[])[.. "ERR Unknown PFDEBUG subcommand '"u8,
                .. word[..Math.Min(word.Length, 128)], .. "'"u8]);
        else if (inspect.WasDense) context.Fail("ERR HLL encoding is not sparse"u8);
        else WriteOpcodes(context.Reply, inspect.Draft.Text);
    }

    private static void WriteRegisters(ReplyWriter reply, ReadOnlySpan<byte> packed)
    {
        Debug.Assert(packed.Length == HyperLogLog.DenseBytes - HyperLogLog.HeaderBytes, "all registers are there");
        reply.WriteArray(HyperLogLog.Registers);
        for (int register = 0; register < HyperLogLog.Registers; register++)
            reply.WriteInteger(DenseRegisters.Get(packed, register));
    }

    /// <summary>z: and Z: are ZERO and XZERO with their lengths, v: a VAL with its rank and length.</summary>
    private static void WriteOpcodes(ReplyWriter reply, ReadOnlySpan<byte> text)
    {
        var decoded = new StringBuilder();
        for (int at = HyperLogLog.HeaderBytes; at < text.Length;)
        {
            var opcode = SparseOpcode.Read(text, at);
            Debug.Assert(opcode.Bytes > 0, "each round gets on");
            if (decoded.Length > 0) decoded.Append(' ');
            if (opcode.Rank > 0) decoded.Append(CultureInfo.InvariantCulture, $"v:{opcode.Rank},{opcode.Length}");
            else decoded.Append(CultureInfo.InvariantCulture, $"{(opcode.Bytes == 1 ? 'z' : 'Z')}:{opcode.Length}");
            at += opcode.Bytes;
        }

        reply.WriteBulk(Encoding.ASCII.GetBytes(decoded.ToString()));
    }

    /// <summary>Copies a value for PFDEBUG, and makes it dense where that is asked for.</summary>
    private struct Inspect(HyperLogLogDraft draft) : IValueUpdate
    {
        public readonly HyperLogLogDraft Draft => draft;

        public bool MakesDense { get; init; }

        public bool Copies { get; init; }

        public HyperLogLogStatus Status { get; private set; }

        public bool WasDense { get; private set; }

        public bool HasChanged { get; private set; }

        public Change Decide(in ValueView current, ref NewValue next)
        {
            Status = HyperLogLogStatus.NotOne;
            HasChanged = false;
            ReadOnlySpan<byte> text = RegisterUnion.TextOf(current);
            if (!current.Exists || !HyperLogLog.TryReadEncoding(text, out var encoding)) return Change.None;
            Status = HyperLogLogStatus.Ok;
            WasDense = encoding == HyperLogLogEncoding.Dense;
            HasChanged = MakesDense && !WasDense;
            if ((Copies || HasChanged) && !(Draft.TryLoad(text) && (!HasChanged || Draft.TryMakeDense())))
                Status = HyperLogLogStatus.Corrupt;
            return HasChanged && Status == HyperLogLogStatus.Ok
                ? HyperLogLogChange.Replace(Draft, ref next) : Change.None;
        }

        public readonly void Write(Span<byte> destination) => Draft.Text.CopyTo(destination);
    }
}
