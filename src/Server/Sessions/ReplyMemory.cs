using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>Long replies share the memory of large values: what one leaves, the next one takes, and the rest goes back
/// to the system.</summary>
internal sealed unsafe class ReplyMemory : IBufferMemory
{
    public static readonly ReplyMemory Instance = new();

    public byte* Take(long bytes) => Extents.Shared.TryTake(ref bytes, isZeroed: false);

    public void Give(byte* start, long bytes) => Extents.Shared.Give(start, bytes, bytes);
}
