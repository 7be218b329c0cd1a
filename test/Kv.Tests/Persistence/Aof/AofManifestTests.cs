using System.Text;
using Kv.Server.Persistence.Aof;

namespace Kv.Tests.Persistence.Aof;

/// <summary>The list of the files, which redis-server reads and writes, too.</summary>
public sealed class AofManifestTests
{
    [Fact]
    public void What_redis_writes_is_read()
    {
        var manifest = Parse("file appendonly.aof.2.base.rdb seq 2 type b\n"
            + "file appendonly.aof.1.incr.aof seq 1 type h\n"
            + "file \"a b\\x01.aof.3.incr.aof\" seq 3 type i\n# a comment\nFILE x seq 4 TYPE i extra words\n");
        Assert.Equal(new AofFileInfo("appendonly.aof.2.base.rdb", 2, AofFileType.Base), manifest.Base);
        Assert.Equal(["a b\x01.aof.3.incr.aof", "x"], manifest.Increments.Select(file => file.Name));
        Assert.Equal(4, manifest.IncrementSequence);
        Assert.Equal("appendonly.aof.1.incr.aof", Assert.Single(manifest.History).Name);
    }

    [Theory]
    [InlineData("", "Found an empty AOF manifest")]
    [InlineData("\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1 type\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq x type b\n", "Invalid AOF manifest file format")]
    [InlineData("file \"a seq 1 type b\n", "Invalid AOF manifest file format")]
    [InlineData("file d/a seq 1 type b\n", "File can't be a path, just a filename")]
    [InlineData("file a seq 1 type x\n", "Unknown AOF file type")]
    [InlineData("file a seq 1 type b\nfile b seq 2 type b\n", "Found duplicate base file information")]
    [InlineData("file a seq 2 type i\nfile b seq 2 type i\n", "Found a non-monotonic sequence number")]
    [InlineData("file a seq 1 type b", "The AOF manifest file contains too long line")]
    public void What_is_wrong_is_said_as_by_redis(string text, string what) =>
        Assert.Contains(what, Assert.Throws<AofException>(() => Parse(text)).Message, StringComparison.Ordinal);

    [Fact]
    public void Every_bit_that_is_turned_and_every_cut_are_found()
    {
        byte[] bytes = Some().ToBytes();
        Assert.Equal(bytes, AofManifest.Parse(bytes, "m").ToBytes());
        for (int bit = 0; bit < 8 * bytes.Length; bit++)
        {
            byte[] damaged = [.. bytes];
            damaged[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.Throws<AofException>(() => AofManifest.Parse(damaged, "m"));
        }
    }

    [Fact]
    public void A_new_base_makes_history_of_what_came_before_it()
    {
        var manifest = Some().WithBase(new AofFileInfo("a.2.base.rdb", 2, AofFileType.Base), keepFrom: 3);
        Assert.Equal(["a.1.base.rdb", "a b.1.incr.aof", "a.2.incr.aof"], manifest.History.Select(file => file.Name));
        Assert.Equal("a.3.incr.aof", Assert.Single(manifest.Increments).Name);
        Assert.Equal(manifest.ToBytes(), AofManifest.Parse(manifest.ToBytes(), "m").ToBytes());
        Assert.Empty(manifest.WithoutHistory().History);
    }

    [Fact]
    public void Files_that_are_read_stay_when_they_are_replaced_until_they_have_been_read()
    {
        var disk = new MemoryDisk();
        var files = AofBed.NewFiles(disk);
        files.AddIncrement(out var increment);
        increment.Dispose();
        var read = files.BeginReading();
        files.BeginReading();
        Replace();
        files.EndReading();
        Replace();
        Assert.All(read.Files, file => Assert.True(disk.Exists(files.PathOf(file.Name)), file.Name));
        Assert.Equal(2, files.Manifest.History.Length);
        files.EndReading();
        Assert.All(read.Files, file => Assert.False(disk.Exists(files.PathOf(file.Name)), file.Name));
        Assert.Empty(files.Manifest.History);
        Replace();
        Assert.Single(files.Manifest.Files);
        Assert.Equal(2, disk.Paths.Count);      // the manifest and its base

        void Replace()
        {
            disk[files.PathOf("written")] = [];
            files.SetBase(files.PathOf("written"), AofFiles.RdbEnding, next: null, isTemporary: false);
            files.Collect();
        }
    }

    private static AofManifest Some() => AofManifest.Empty
        .WithBase(new AofFileInfo("a.1.base.rdb", 1, AofFileType.Base), 0)
        .WithIncrement(new AofFileInfo("a b.1.incr.aof", 1, AofFileType.Increment))
        .WithIncrement(new AofFileInfo("a.2.incr.aof", 2, AofFileType.Increment))
        .WithIncrement(new AofFileInfo("a.3.incr.aof", 3, AofFileType.Increment));

    private static AofManifest Parse(string text) => AofManifest.Parse(Encoding.UTF8.GetBytes(text), "m");
}
