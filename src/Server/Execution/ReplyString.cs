using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Writes a string straight from its record into the reply, and takes it back when the read turns out to be
/// invalid.</summary>
internal struct ReplyString : IValueRead
{
    private readonly SessionOutput _output;
    private readonly ReplyMark _mark;
    private bool _written;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ReplyString(SessionOutput output)
    {
        _output = output;
        _mark = output.Reply.Mark();
        _written = false;
    }

    /// <inheritdoc/>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Read(in ValueView value)
    {
        if (_written) Forget();
        _written = true;
        Write(_output, value);
    }

    /// <summary>Writes the string, or nil for an absent key.</summary>
    public void ReadOrNull(in ValueView value)
    {
        if (value.Exists)
        {
            Read(value);
            return;
        }

        Forget();
        _written = true;
        _output.Reply.WriteNull();
    }

    /// <summary>Writes an error in the place of the string.</summary>
    public void WriteError(ReadOnlySpan<byte> error)
    {
        Forget();
        _written = true;
        _output.Reply.WriteError(error);
    }

    /// <summary>Takes back what was written.</summary>
    public void Forget()
    {
        if (_written) _output.Rewind(_mark);
        _written = false;
    }

    /// <summary>Writes a string as a bulk string; one in a block by a reference to it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Write(SessionOutput output, in ValueView value)
    {
        if (value.Kind == ValueKind.String) output.Reply.WriteBulk(value.Bytes);
        else WriteOther(output, value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void WriteOther(SessionOutput output, ValueView value)     // by value: in two registers
    {
        if (value.Kind == ValueKind.Integer)
        {
            output.Reply.WriteBulkInteger(value.Integer);
        }
        else if (value.Kind == ValueKind.BlockString)
        {
            // The output keeps a reference of its own until the bytes are sent; Rewind releases it.
            var block = value.Block;
            if (block.IsNone) return;       // changed meanwhile: the read runs again
            block.AddReference();
            output.WriteBlock(output.Reply, block);
        }
        else
        {
            output.Reply.WriteBulk(value.Bytes);
        }
    }
}
