using System.Net;
using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.Garnet;

/// <summary>The options of Garnet's tool, with its defaults.</summary>
internal sealed class GarnetOptions
{
    public string Host { get; set; } = "127.0.0.1";

    public int Port { get; set; } = 6379;

    /// <summary>Null: the system's choice.</summary>
    public IPAddress? ClientAddress { get; set; }

    /// <summary>In capitals.</summary>
    public string Op { get; set; } = "GET";

    public long DbSize { get; set; } = 1024;

    public long TotalOps { get; set; } = 33_554_432;

    /// <summary>0: the digits of <see cref="DbSize"/>.</summary>
    public int KeyLength { get; set; } = 8;

    /// <summary>0: the key is the value.</summary>
    public int ValueLength { get; set; } = 8;

    public int[] BatchSizes { get; set; } = [4096];

    /// <summary>Seconds a cell; online rows of two seconds. 0: load only. -1: until interrupted, online.</summary>
    public int RunTime { get; set; } = 15;

    public int[] Threads { get; set; } = [1, 2, 4, 8, 16, 32];

    public bool SkipLoad { get; set; }

    public bool LoadUsingSet { get; set; }

    public int LoadThreads { get; set; } = 8;

    public GarnetClient Client { get; set; }

    public bool Online { get; set; }

    public string[] OpWorkload { get; set; } = ["GET", "SET", "DEL"];

    public int[] OpPercent { get; set; } = [60, 30, 10];

    /// <summary>Online: operations outstanding per session.</summary>
    public int InsideThread { get; set; } = 1;

    public bool Burst { get; set; }

    public bool Zipf { get; set; }

    public int Ttl { get; set; }

    public int SortedSets { get; set; }

    public string? Auth { get; set; }

    public bool Tls { get; set; }

    public string TlsHost { get; set; } = "GarnetTest";

    public string? CertificateFile { get; set; }

    public string? CertificatePassword { get; set; }

    public bool Insecure { get; set; }

    public string? LogFile { get; set; }

    public bool ConsoleLogger { get; set; } = true;

    /// <summary>Rows are information; a higher level hides them.</summary>
    public LogLevel Level { get; set; } = LogLevel.Information;

    /// <summary>Seconds between SAVEs; 0: none.</summary>
    public int SaveFrequency { get; set; }

    public bool Sync { get; set; }

    public bool Pool { get; set; }

    public bool ClientHistogram { get; set; }

    public Extras Extras { get; } = new();

    /// <summary>Options that were accepted and do nothing, by name.</summary>
    public List<string> Ignored { get; } = [];

    public bool Help { get; set; }

    public bool Version { get; set; }

    /// <summary>Whether a batch size other than one was given where online mode takes one.</summary>
    public bool BatchSizeReplaced { get; set; }

    /// <summary>The same with another online mix.</summary>
    public GarnetOptions With(string[] workload, int[] percent)
    {
        var other = (GarnetOptions)MemberwiseClone();
        (other.OpWorkload, other.OpPercent) = (workload, percent);
        return other;
    }

    public Target Target => new()
    {
        Host = Host,
        Port = Port,
        Password = Auth,
        From = ClientAddress,
        Tls = Tls
            ? new TlsOptions
            {
                ServerName = TlsHost, Insecure = Insecure, CertificateFile = CertificateFile,
                    CertificatePassword = CertificatePassword,
            }
            : null,
    };
}

/// <summary>Levels of Garnet's logger, in its order.</summary>
internal enum LogLevel
{
    Trace,
    Debug,
    Information,
    Warning,
    Error,
    Critical,
    None,
}
