using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.Tair;

/// <summary>The options of Tair's resp-benchmark, with their defaults.</summary>
internal sealed class TairOptions
{
    public const string CommandDefault = "SET {key uniform 100000} {value 64}";

    public string Host { get; set; } = "127.0.0.1";

    public int Port { get; set; } = 6379;

    public string? User { get; set; }

    public string? Password { get; set; }

    /// <summary>Connections in total; 0: found by doubling while that helps.</summary>
    public int Connections { get; set; }

    /// <summary>0: unlimited.</summary>
    public long Requests { get; set; }

    /// <summary>0: unlimited.</summary>
    public int Seconds { get; set; }

    public int Pipeline { get; set; } = 1;

    public bool Load { get; set; }

    /// <summary>A loop is pinned to each; empty: all cores, none pinned.</summary>
    public int[] Cores { get; set; } = [];

    public string Command { get; set; } = CommandDefault;

    public bool Tls { get; set; }

    public TlsOptions TlsOptions { get; set; } = new();

    public Extras Extras { get; } = new();

    public bool Help { get; set; }

    public bool Version { get; set; }

    public Target Target =>
        new() { Host = Host, Port = Port, User = User, Password = Password, Tls = Tls ? TlsOptions : null };
}
