using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>Long replies use the memory of large values: the next reply or value takes what one has given back, and
/// what nobody takes goes back to the system.</summary>
internal sealed unsafe class ReplyMemory : IBufferMemory
{
    public static readonly ReplyMemory Instance = new();

    public byte* Take(long bytes) => Extents.Shared.TryTake(ref bytes, isZeroed: false);

    public void Give(byte* start, long bytes) => Extents.Shared.Give(start, bytes, bytes);
}
