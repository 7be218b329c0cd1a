using Kv.Server.Configuration;

namespace Kv.Tests.Configuration;

public sealed class MachineMemoryTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("kv-memory-").FullName;

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void The_machine_counts_when_no_group_limits()
    {
        Write("proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\n");
        Write("sys/fs/cgroup/memory.max", "max\n");
        Assert.Equal(new MachineMemory(8_192_000_000, false), MachineMemory.Read(_root));
    }

    [Fact]
    public void The_smallest_limit_on_the_way_to_the_root_counts()
    {
        Write("proc/meminfo", "MemTotal:        8000000 kB\n");
        Write("proc/self/cgroup", "0::/a/b\n");
        Write("sys/fs/cgroup/a/b/memory.max", "3000000000\n");
        Write("sys/fs/cgroup/a/memory.max", "2000000000\n");
        Assert.Equal(new MachineMemory(2_000_000_000, true), MachineMemory.Read(_root));
    }

    [Fact]
    public void Nonsense_is_no_limit()
    {
        Write("proc/meminfo", "MemTotal: many\n");
        Write("proc/self/cgroup", "");
        Write("sys/fs/cgroup/memory.max", "-1\n");
        Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        Assert.Equal(new MachineMemory(0, false), MachineMemory.Read(_root));
        Assert.True(MachineMemory.Read().Bytes > 1 << 20);
    }

    private void Write(string name, string text)
    {
        string path = Path.Combine(_root, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
    }
}
