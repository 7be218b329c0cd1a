using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;

namespace Kv.Server.PubSub;

//  block:  type | count \r\n | bulk string | ... | bulk string
//          '*'    3 or 4       kind [pattern] channel payload
//
//   line:  '+' | text | \r\n
//
// RESP2 and RESP3 differ in the first byte only, '*' for an array and '>' for a push: both are answered from one block.
// A line is a simple string in both.

/// <summary>A published message as it goes to clients, encoded once and shared by all who receive it.</summary>
/// <remarks>
/// Threads: any may read it while it holds a reference; whoever releases the last one frees the block.
/// Cost: one native block a message, however many the subscribers; the object itself is 48 bytes of garbage. Both are
/// charged.
/// </remarks>
internal sealed unsafe class SharedMessage
{
    /// <summary>The object, and the heap's own bytes for a block.</summary>
    public const int OverheadBytes = 48 + 16;

    private readonly byte* _block;
    private readonly Action<long>? _charge;
    private int _references;

    private SharedMessage(int length, Action<long>? charge)
    {
        _block = (byte*)NativeMemory.Alloc((nuint)length);
        Length = length;
        _charge = charge;
        _references = 1;
        charge?.Invoke(length + OverheadBytes);
    }

    /// <summary>Bytes on the wire, the same in both versions.</summary>
    public int Length { get; }

    /// <summary>The first byte for a client: a push in RESP3, an array in RESP2.</summary>
    public static byte Prefix(bool push) => push ? (byte)'>' : (byte)'*';

    /// <summary>All but the first byte.</summary>
    public ReadOnlySpan<byte> Body => new(_block + 1, Length - 1);

    /// <summary>Appends the message in the writer's version of the protocol; it does not count as a reply.</summary>
    public void WriteTo(ReplyWriter reply)
    {
        Debug.Assert(Volatile.Read(ref _references) > 0, "whoever writes a message holds a reference");
        reply.WriteRaw([*_block == (byte)'*' ? Prefix(reply.Version == RespVersion.Resp3) : *_block], 0);
        reply.WriteRaw(Body, 0);
    }

    /// <summary>Makes a message of three parts; the caller holds the only reference.</summary>
    /// <param name="charge">Called with the native bytes: positive when they are taken, negative when freed.</param>
    /// <exception cref="OverflowException">The parts together pass 2 GB.</exception>
    public static SharedMessage Encode(
        ReadOnlySpan<byte> kind, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload, Action<long>? charge)
    {
        int length = checked(4 + BulkBytes(kind) + BulkBytes(channel) + BulkBytes(payload));
        var message = new SharedMessage(length, charge);
        var rest = message.Begin(3);
        rest = Append(rest, kind);
        rest = Append(rest, channel);
        rest = Append(rest, payload);
        Debug.Assert(rest.IsEmpty, "the length was counted wrong");
        return message;
    }

    /// <summary>Makes a message for subscribers of a pattern, which names the pattern, too; the caller holds the only
    /// reference.</summary>
    public static SharedMessage Encode(
        ReadOnlySpan<byte> kind, ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload,
        Action<long>? charge)
    {
        int length = checked(4 + BulkBytes(kind) + BulkBytes(pattern) + BulkBytes(channel) + BulkBytes(payload));
        var message = new SharedMessage(length, charge);
        var rest = message.Begin(4);
        rest = Append(rest, kind);
        rest = Append(rest, pattern);
        rest = Append(rest, channel);
        rest = Append(rest, payload);
        Debug.Assert(rest.IsEmpty, "the length was counted wrong");
        return message;
    }

    /// <summary>Makes a message of one line, which is no array; the caller holds the only reference.</summary>
    /// <param name="line">Without the end of the line.</param>
    public static SharedMessage OfLine(ReadOnlySpan<byte> line, Action<long>? charge)
    {
        Debug.Assert(!line.ContainsAny((byte)'\r', (byte)'\n'), "a line has one end");
        var message = new SharedMessage(checked(1 + line.Length + 2), charge);
        var block = new Span<byte>(message._block, message.Length);
        block[0] = (byte)'+';
        line.CopyTo(block[1..]);
        "\r\n"u8.CopyTo(block[(1 + line.Length)..]);
        return message;
    }

    /// <summary>Takes references for the subscribers to whom the message is about to be pushed.</summary>
    public void AddReferences(int count)
    {
        // Interlocked: receivers release on other threads while the publisher still adds for the next pattern.
        Debug.Assert(count >= 0, "references are given back by Release");
        int now = Interlocked.Add(ref _references, count);
        Debug.Assert(now > count, "a message was revived after its last reference went");
    }

    /// <summary>Gives one reference back; the last one frees the block.</summary>
    public void Release()
    {
        // Interlocked: every reader's loads come before its own decrement, so the last one may free what all have read.
        int left = Interlocked.Decrement(ref _references);
        Debug.Assert(left >= 0, "a message was released more often than it was shared");
        if (left != 0) return;
        NativeMemory.Free(_block);
        _charge?.Invoke(-Length - OverheadBytes);
    }

    private Span<byte> Begin(int parts)
    {
        var block = new Span<byte>(_block, Length);
        block[0] = (byte)'*';
        block[1] = (byte)('0' + parts);
        block[2] = (byte)'\r';
        block[3] = (byte)'\n';
        return block[4..];
    }

    private static Span<byte> Append(Span<byte> rest, ReadOnlySpan<byte> text)
    {
        rest[0] = (byte)'$';
        text.Length.TryFormat(rest[1..], out int digits);
        rest = rest[(1 + digits)..];
        "\r\n"u8.CopyTo(rest);
        text.CopyTo(rest[2..]);
        rest = rest[(2 + text.Length)..];
        "\r\n"u8.CopyTo(rest);
        return rest[2..];
    }

    private static int BulkBytes(ReadOnlySpan<byte> text)
    {
        int digits = 1;
        for (int left = text.Length; left >= 10; left /= 10) digits++;
        return checked(1 + digits + 2 + text.Length + 2);
    }
}
