using Kv.Server.Configuration;
using Kv.Server.Persistence.Aof;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>Files that end too early, or are not as they were written.</summary>
public sealed class AofDamageTests : IDisposable
{
    private readonly KvInstance _kv = KvInstance.Start();

    public void Dispose() => _kv.Dispose();

    private const string File = AofBed.Folder + "/appendonly.aof.1.incr.aof";

    /// <summary>What is there after each of the groups.</summary>
    private static readonly Dictionary<string, string>[] States =
    [
        [], new() { ["a"] = "1" }, new() { ["a"] = "1", ["b"] = "2", ["c"] = "3" },
        new() { ["a"] = "11", ["b"] = "2", ["c"] = "3" },
    ];

    [Fact]
    public void Cut_off_at_any_byte_it_loads_whole_groups_and_says_what_is_gone()
    {
        byte[] bytes = Written(marks: false);
        int last = -1;
        for (int length = 0; length <= bytes.Length; length++)
        {
            var disk = DiskWith(bytes[..length]);
            int state = StateOf(AofBed.Load(_kv, disk, out var end));
            Assert.True(state >= last, "a longer file has no less");
            last = state;
            Assert.True(end!.Value.Length <= length);
            Assert.Equal(end.Value.Length, disk[File].Length);
        }

        Assert.Equal(3, last);
    }

    [Fact]
    public void Without_leave_to_cut_the_start_fails_and_the_file_stays()
    {
        byte[] bytes = Written(marks: false)[..^1];
        var disk = DiskWith(bytes);
        var error = Assert.Throws<AofException>(() => AofBed.Load(_kv, disk, out _, cutsTail: false));
        Assert.Contains("--aof-load-truncated yes", error.Message, StringComparison.Ordinal);
        Assert.Contains("at offset ", error.Message, StringComparison.Ordinal);
        Assert.Equal(bytes, disk[File]);
    }

    [Fact]
    public void Every_bit_that_is_turned_is_found()
    {
        byte[] bytes = Written(marks: true);
        int padding = 0;
        for (int bit = 0; bit < 8 * bytes.Length; bit++)
        {
            byte[] damaged = [.. bytes];
            damaged[bit / 8] ^= (byte)(1 << (bit % 8));
            var disk = DiskWith(damaged);
            if (Record.Exception(() => AofBed.Load(_kv, disk, out _)) is { } exception)
            {
                Assert.IsType<AofException>(exception);
                Assert.Equal(damaged, disk[File]);
                continue;
            }

            // The last line says only that all before it is on the disk: without it nothing is missing.
            padding++;
            Assert.True(bit / 8 >= bytes.Length - AofGroup.LineBytes, $"bit {bit} was not found");
            Assert.Equal(3, StateOf(AofBed.Load(_kv, disk, out _)));
        }

        Assert.Equal(8 * AofGroup.LineBytes, padding);
    }

    [Theory]
    [InlineData("zeros")]
    [InlineData("junk")]
    [InlineData("again")]
    public void What_stands_in_place_of_the_last_groups_is_cut_off(string filler)
    {
        byte[] bytes = Written(marks: false);
        var random = Seed.NewRandom();
        for (int from = 0; from < bytes.Length; from++)
        {
            byte[] damaged = [.. bytes];
            if (filler == "zeros") damaged.AsSpan(from).Clear();
            else if (filler == "junk") random.NextBytes(damaged.AsSpan(from));
            else damaged = [.. bytes[..from], .. bytes];
            // The first line is on the disk before the manifest names the file.
            if (from < AofGroup.LineBytes && filler != "zeros") continue;
            Assert.InRange(StateOf(AofBed.Load(_kv, DiskWith(damaged), out _)), 0, 3);
        }
    }

    [Fact]
    public void Lost_and_exchanged_groups_are_found()
    {
        byte[] bytes = Written(marks: true);
        int[] starts = [.. Starts(bytes)];
        Assert.Equal(6, starts.Length);     // the first is empty, SELECT has one of its own, the last is the mark
        for (int lost = 0; lost < 5; lost++)
        {
            byte[] damaged = [.. bytes[..starts[lost]], .. bytes[starts[lost + 1]..]];
            Assert.Throws<AofException>(() => AofBed.Load(_kv, DiskWith(damaged), out _));
            int next = starts[lost + 1];
            damaged = [.. bytes[..starts[lost]], .. bytes[next..starts[Math.Min(lost + 2, 5)]],
                .. bytes[starts[lost]..next], .. bytes[starts[Math.Min(lost + 2, 5)]..]];
            if (lost < 4) Assert.Throws<AofException>(() => AofBed.Load(_kv, DiskWith(damaged), out _));
        }
    }

    [Fact]
    public void Damage_to_a_file_that_others_follow_is_never_cut_off()
    {
        byte[] bytes = Written(marks: false);
        var disk = DiskWith(bytes[..^1]);
        using var bed = new AofBed(disk);
        bed.Files.TryOpen();
        bed.Open().Dispose();
        Assert.Throws<AofException>(() => AofBed.Load(_kv, disk, out _));
    }

    [Fact]
    public void A_missing_file_stops_the_start()
    {
        var disk = DiskWith(Written(marks: true));
        disk.Delete(File);
        var error = Assert.Throws<AofException>(() => AofBed.Load(_kv, disk, out _));
        Assert.Contains($"{File} is missing", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_base_is_not_cut_off_where_a_missing_increment_ended()
    {
        const string Base = AofBed.Folder + "/appendonly.aof.1.base.aof";
        byte[] content = AofBed.Resp("SET a 1", "SET b 2"), head = new byte[AofGroup.LineBytes];
        new AofGroup(0, 0, content.Length / 2, AofGroup.FirstSum(2)).Write(head);
        var disk = new MemoryDisk();
        disk[Base] = content;
        disk[AofBed.Folder + "/appendonly.aof.2.incr.aof"] = head;
        disk[AofBed.Folder + "/appendonly.aof.manifest"] =
            "file appendonly.aof.1.base.aof seq 1 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n"u8.ToArray();
        var error = Assert.Throws<AofException>(() => AofBed.Load(_kv, disk, out _));
        Assert.Contains("of an increment that is missing", error.Message, StringComparison.Ordinal);
        Assert.Equal(content, disk[Base]);
    }

    private static byte[] Written(bool marks)
    {
        var disk = new MemoryDisk();
        using (var bed = new AofBed(disk, AppendFsync.EverySec))
        {
            var writer = bed.Open();
            string[][] groups = [["SET a 1"], ["MULTI", "SET b 2", "SET c 3", "EXEC"], ["APPEND a 1"]];
            long ticket = 0;
            foreach (string[] group in groups)
            {
                writer.Write(AofBed.Resp(group), 0, ++ticket);
                writer.Flush();
            }

            byte[] bytes = disk[File];
            if (!marks) return bytes;
            Assert.Null(writer.Sync());
            Assert.Equal(bytes.Length + AofGroup.LineBytes, disk[File].Length);
            return disk[File];
        }
    }

    private static MemoryDisk DiskWith(byte[] bytes)
    {
        var disk = new MemoryDisk();
        AofBed.NewFiles(disk).AddIncrement(out _);
        disk[File] = bytes;
        return disk;
    }

    private static IEnumerable<int> Starts(byte[] bytes)
    {
        for (int at = 0; at < bytes.Length; at++)
            if (bytes.AsSpan(at).StartsWith(AofGroup.Prefix)) yield return at;
    }

    private static int StateOf(Dictionary<string, string> found)
    {
        int state = Array.FindIndex(States, expected => expected.Count == found.Count
            && expected.All(pair => found.GetValueOrDefault(pair.Key) == pair.Value));
        Assert.True(state >= 0, $"half a group: {string.Join(' ', found)}");
        return state;
    }
}
