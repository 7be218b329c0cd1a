using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;

namespace Kv.Server.PubSub;

//  block:  type | count \r\n | bulk string | ... | bulk string
//          '*'    3 or 4       kind [pattern] channel payload
//
//   line:  '+' | text | \r\n
//
// RESP2 and RESP3 differ in the first byte only, '*' for an array and '>' for a push: both are answered from one block.
//
//  block of an invalidation:  * | count \r\n | key as a bulk string | ...       empty: all keys
//
// What comes before it differs: a push in RESP3, a message of a channel in RESP2.

/// <summary>A message as it goes to clients, published or of client tracking, encoded once and shared by all who
/// receive it.</summary>
/// <remarks>
/// Threads: any may read it while it holds a reference; whoever releases the last one frees the block.
/// Cost: one native block a message, however many the subscribers; the object itself is 48 bytes of garbage. Both are
/// charged.
/// </remarks>
internal sealed unsafe class SharedMessage
{
    /// <summary>The object, and the heap's own bytes for a block.</summary>
    public const int OverheadBytes = 48 + 16;

    /// <summary>What an invalidation has on the wire beside its block, at most.</summary>
    private const int HeadBytesMax = 64;

    private readonly byte* _block;
    private readonly Action<long>? _charge;
    private readonly Form _form;
    private int _references;

    private SharedMessage(int length, Action<long>? charge, Form form = Form.Published)
    {
        _block = (byte*)NativeMemory.Alloc((nuint)length);
        Length = length;
        _charge = charge;
        _form = form;
        _references = 1;
        charge?.Invoke(length + OverheadBytes);
    }

    private enum Form : byte { Published, Line, Invalidation, BrokenRedirection }

    /// <summary>Bytes of the block: of a published message those on the wire, the same in both versions.</summary>
    public int Length { get; }

    /// <summary>Bytes on the wire, at most.</summary>
    public int WrittenBytesMax => Length + HeadBytesMax;

    /// <summary>The first byte for a client: a push in RESP3, an array in RESP2.</summary>
    public static byte Prefix(bool push) => push ? (byte)'>' : (byte)'*';

    /// <summary>All but the first byte.</summary>
    public ReadOnlySpan<byte> Body => new(_block + 1, Length - 1);

    /// <summary>All of the block.</summary>
    public ReadOnlySpan<byte> Bytes => new(_block, Length);

    /// <summary>Appends the message in the writer's version of the protocol; it does not count as a reply.</summary>
    /// <param name="isSubscriber">Whether the client expects messages. In RESP2 others cannot tell them from replies,
    /// so what client tracking has for them is left out.</param>
    public void WriteTo(ReplyWriter reply, bool isSubscriber = true)
    {
        Debug.Assert(Volatile.Read(ref _references) > 0, "whoever writes a message holds a reference");
        bool isPush = reply.Version == RespVersion.Resp3;
        if (_form == Form.Published)
        {
            reply.WriteRaw([Prefix(isPush)], 0);
            reply.WriteRaw(Body, 0);
        }
        else if (_form is Form.Line or Form.BrokenRedirection)
        {
            if (isPush || _form == Form.Line) reply.WriteRaw(Bytes, 0);
        }
        else if (isPush || isSubscriber)
        {
            Debug.Assert(InvalidationMessage.Length + 5 <= HeadBytesMax, "with the null of RESP2");
            reply.WriteRaw(isPush ? InvalidationPush : InvalidationMessage, 0);
            if (Length > 0) reply.WriteRaw(Bytes, 0);
            else reply.WriteRaw(isPush ? "_\r\n"u8 : "$-1\r\n"u8, 0);
        }
    }

    /// <summary>What comes before the keys of an invalidation.</summary>
    private static ReadOnlySpan<byte> InvalidationPush => ">2\r\n$10\r\ninvalidate\r\n"u8;

    private static ReadOnlySpan<byte> InvalidationMessage =>
        "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"u8;

    /// <summary>Makes the message that copies of some keys are no longer valid; the caller holds the only
    /// reference.</summary>
    /// <param name="text">Where the keys are.</param>
    /// <param name="keys">Their places in it.</param>
    public static SharedMessage Invalidation(ReadOnlySpan<byte> text, ReadOnlySpan<Range> keys, Action<long>? charge)
    {
        Debug.Assert(!keys.IsEmpty, "without keys it would mean all keys");
        Span<byte> head = stackalloc byte[16];
        head[0] = (byte)'*';
        keys.Length.TryFormat(head[1..], out int digits);
        "\r\n"u8.CopyTo(head[(1 + digits)..]);
        head = head[..(digits + 3)];
        int length = head.Length;
        foreach (var key in keys) length = checked(length + BulkBytes(text[key]));
        var message = new SharedMessage(length, charge, Form.Invalidation);
        var rest = new Span<byte>(message._block, length);
        head.CopyTo(rest);
        rest = rest[head.Length..];
        foreach (var key in keys) rest = Append(rest, text[key]);
        Debug.Assert(rest.IsEmpty, "the length was counted wrong");
        return message;
    }

    /// <summary>Makes the message that no copy of any key is valid any more.</summary>
    public static SharedMessage InvalidationOfAll(Action<long>? charge) => new(0, charge, Form.Invalidation);

    /// <summary>Makes the message that the client to which invalidations were to go has left.</summary>
    public static SharedMessage BrokenRedirection(long client, Action<long>? charge)
    {
        byte[] text = Encoding.ASCII.GetBytes($">2\r\n$21\r\ntracking-redir-broken\r\n:{client}\r\n");
        var message = new SharedMessage(text.Length, charge, Form.BrokenRedirection);
        text.CopyTo(new Span<byte>(message._block, text.Length));
        return message;
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
        var message = new SharedMessage(checked(1 + line.Length + 2), charge, Form.Line);
        var block = new Span<byte>(message._block, message.Length);
        block[0] = (byte)'+';
        line.CopyTo(block[1..]);
        "\r\n"u8.CopyTo(block[(1 + line.Length)..]);
        return message;
    }

    /// <summary>Makes a message of bytes that go out as they are; the caller holds the only reference.</summary>
    public static SharedMessage OfBytes(ReadOnlySpan<byte> bytes, Action<long>? charge)
    {
        var message = new SharedMessage(bytes.Length, charge, Form.Line);
        bytes.CopyTo(new Span<byte>(message._block, message.Length));
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
