using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Sessions;

//  one turn's replies, session after session:
//
//   Buffer   | +OK\r\n$70000\r\n         \r\n$3\r\nabc\r\n | ...next session
//                              ^ 13
//   References                { offset 13, block of 70,000 }       sent there, from the block itself

/// <summary>Where the replies of a turn are written: bytes, and at some places references to blocks that are not copied.</summary>
/// <remarks>Threads: one worker or lease.</remarks>
internal sealed unsafe class SessionOutput : IDisposable
{
    private readonly List<BlockReference> _references = [];
    private readonly StoreSession _store;

    public SessionOutput(StoreSession store)
    {
        _store = store;
        Reply = new ReplyWriter(Buffer);
    }

    public OutputBuffer Buffer { get; } = new(64 * 1024, 1024 * 1024);

    public ReplyWriter Reply { get; }

    /// <summary>Blocks to be sent among the bytes, in order.</summary>
    public List<BlockReference> References => _references;

    /// <summary>Writes a bulk string whose body stays in its block. Takes the caller's reference.</summary>
    public void WriteBlock(ReplyWriter reply, Block block)
    {
        Span<byte> header = stackalloc byte[24];
        header[0] = RespType.Bulk;
        int digits = NumberText.FormatInt64(block.Length, header[1..]);
        "\r\n"u8.CopyTo(header[(1 + digits)..]);
        reply.WriteRaw(header[..(3 + digits)], 0);
        _references.Add(new BlockReference(Buffer.Length, block));
        reply.WriteRaw("\r\n"u8);
    }

    /// <summary>Forgets what was written since the mark.</summary>
    public void Rewind(ReplyMark mark)
    {
        while (_references.Count > 0 && _references[^1].Offset > mark.Length)
        {
            _store.Release(_references[^1].Block);
            _references.RemoveAt(_references.Count - 1);
        }

        Reply.Rewind(mark);
    }

    public void Dispose()
    {
        foreach (var reference in _references) _store.Release(reference.Block);
        _references.Clear();
        Reply.Dispose();
    }

    /// <summary>A block to be sent behind so many bytes of the buffer.</summary>
    public readonly record struct BlockReference(int Offset, Block Block);
}
