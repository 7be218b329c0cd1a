using Kv.Server.Network;

namespace Kv.Tests.Network;

/// <summary>Memory that a stream may look at for the time of a call.</summary>
public sealed class NativeRoomTests
{
    [Fact]
    public unsafe void Bytes_that_were_lent_for_a_call_are_gone_after_it()
    {
        byte* bytes = stackalloc byte[16];
        var room = new NativeRoom();
        var memory = room.Of(bytes, 16);
        Assert.Equal(16, memory.Span.Length);
        room.End();
        Assert.Throws<ObjectDisposedException>(() => memory.Span.Length);
        Assert.Equal(4, room.Of(bytes, 4).Span.Length);
    }
}
