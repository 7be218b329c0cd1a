using System.Runtime.CompilerServices;
using Kv.Server.Families;
using Kv.Server.Persistence.Aof;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

public sealed class AofReaderTests
{
    // The process' pool would keep them for a minute and more. They counted as used, and 16 MB of keys were evicted for
    // them after a start.
    [Fact]
    public void What_a_file_was_read_into_is_let_go_of_with_the_reader()
    {
        var pieces = Read();
        Assert.True(pieces.Count > 3);
        GC.Collect();
        Assert.All(pieces, piece => Assert.False(piece.IsAlive));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static List<WeakReference> Read()
    {
        var file = new MemoryStream();
        byte[] set = RespText.Encode($"SET k {new string('v', 1000)}");
        for (int i = 0; i < 6000; i++) file.Write(set);
        file.Position = 0;
        var kinds = new AofKinds(AllCommands.Table);
        var reader = new AofReader(file, 0, file.Length, sum: 0, kinds, databases: 16);
        var pieces = new List<WeakReference>();
        while (reader.Next() is { } chunk)
        {
            pieces.Add(new WeakReference(chunk.Bytes));
            chunk.Return();
        }

        Assert.Equal(file.Length, reader.Position);
        return pieces;
    }
}
