using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.RedisBenchmark;

/// <summary>The options of redis-benchmark and of its Valkey descendant, with their defaults.</summary>
internal sealed class RedisBenchmarkOptions
{
    public string Host { get; set; } = "127.0.0.1";

    public int Port { get; set; } = 6379;

    public string? UnixPath { get; set; }

    public string? Password { get; set; }

    public string? User { get; set; }

    public int Database { get; set; }

    public bool Resp3 { get; set; }

    /// <summary>Connections in total.</summary>
    public int Clients { get; set; } = 50;

    public long Requests { get; set; } = 100_000;

    public int Pipeline { get; set; } = 1;

    /// <summary>Shown as given: 0 is a new connection for every request, any other number is not.</summary>
    public int KeepAlive { get; set; } = 1;

    public int DataBytes { get; set; } = 3;

    /// <summary>0: placeholders are sent as they are.</summary>
    public long KeySpace { get; set; }

    /// <summary>Names of tests in small letters; null: all.</summary>
    public string[]? Tests { get; set; }

    public bool Quiet { get; set; }

    public bool Csv { get; set; }

    /// <summary>Significant digits of the histogram behind the tables, 1 to 4.</summary>
    public int Precision { get; set; } = 3;

    /// <summary>0: one loop, and the text says there are no threads.</summary>
    public int Threads { get; set; }

    public bool Tracking { get; set; }

    public bool Loop { get; set; }

    public bool Idle { get; set; }

    public bool LastFromInput { get; set; }

    public ulong Seed { get; set; } = 1;

    public bool Tls { get; set; }

    public TlsOptions TlsOptions { get; set; } = new();

    /// <summary>Zero: until <see cref="Requests"/> are done.</summary>
    public TimeSpan Duration { get; set; }

    public TimeSpan Warmup { get; set; }

    /// <summary>Requests a second, open loop; 0: closed loop.</summary>
    public long Rate { get; set; }

    public bool Sequential { get; set; }

    /// <summary>The words of a command of the user's own; empty: the tests.</summary>
    public string[] Command { get; set; } = [];

    public Extras Extras { get; } = new();

    /// <summary>What to say on stderr before the run.</summary>
    public List<string> Warnings { get; } = [];

    public bool Help { get; set; }

    public bool Version { get; set; }

    public Target Target => new()
    {
        Host = Host,
        Port = Port,
        UnixPath = UnixPath,
        User = User,
        Password = Password,
        Database = Database,
        RespVersion = Resp3 ? 3 : 2,
        Tracking = Tracking,
        Tls = Tls ? TlsOptions : null,
    };
}
