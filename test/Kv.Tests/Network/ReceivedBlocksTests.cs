using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Large arguments leave the input for blocks of their own.</summary>
public sealed unsafe class ReceivedBlocksTests
{
    // A client that waits sends on: what the parser waited for may all be there when it is asked next.
    [Theory]
    [InlineData(-1, true)]
    [InlineData(0, false)]
    [InlineData(1, false)]
    [InlineData(5000, false)]
    // 3,000 clients that sent one byte of 512 MB had a block each, far from all others, who waited for half a second.
    [InlineData(1 - 70_000, false)]
    [InlineData(4095 - 70_000, false)]
    [InlineData(4096 - 70_000, true)]
    public void An_argument_has_a_block_when_some_of_it_has_arrived_and_more_is_to_come(int beyond, bool begins)
    {
        const int Bytes = 70_000;
        using var kv = KvInstance.Start();
        using var client = new WindowClient(kv);
        using var store = kv.Server.Store.CreateSession();
        using var table = new ArgumentTable();
        var session = new Session(2_000_000, kv.Server, client);
        byte[] head = [.. "*2\r\n$4\r\nECHO\r\n$70000\r\n"u8];
        byte[] wire = [.. head, .. new byte[Bytes + 5000 + CommandParser.PaddingBytes]];
        store.BeginTurn();
        fixed (byte* input = wire)
        {
            int position = 0;
            Assert.Equal(ParseStatus.NeedMoreData, CommandParser.Parse(input, head.Length + 100, ref position, table,
                kv.Server.Limits, true, ref session.Partial, out _, out _));
            int length = head.Length + Bytes + beyond;
            Assert.Equal(begins ? head.Length : length, ReceivedBlocks.Begin(session, store, input, length));
            Assert.Equal(begins, session.Blocks != null);
        }

        session.Blocks?.Release(store);
        session.Partial.Reset();
        store.GoOffline();
    }
}
