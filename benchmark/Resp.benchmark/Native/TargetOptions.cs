using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Whom to load, and how its connections begin.</summary>
internal class TargetOptions
{
    [Option("target", HelpText = "NAME=host:port, NAME=/path/socket or NAME=redis://...; twice or more: side by side.")]
    public IEnumerable<string> Targets { get; set; } = [];

    [Option('h', "host", Default = "127.0.0.1", HelpText = "Host of the only target.")]
    public string Host { get; set; } = "127.0.0.1";

    [Option('p', "port", Default = 6379, HelpText = "Port of the only target.")]
    public int Port { get; set; } = 6379;

    [Option("unix", HelpText = "Unix socket of the only target.")]
    public string? Unix { get; set; }

    [Option("uri", HelpText = "redis[s]://[user:pass@]host[:port][/db]")]
    public string? Uri { get; set; }

    [Option("user", HelpText = "ACL user.")]
    public string? User { get; set; }

    [Option("pass", HelpText = "Password; else from --pass-file or RESP_BENCHMARK_PASSWORD.")]
    public string? Password { get; set; }

    [Option("pass-file", HelpText = "File whose first line is the password.")]
    public string? PasswordFile { get; set; }

    [Option("db", Default = 0, HelpText = "Database to SELECT.")]
    public int Database { get; set; }

    [Option("resp", Default = 2, HelpText = "Protocol version, 2 or 3.")]
    public int Resp { get; set; } = 2;

    [Option("tls", HelpText = "Speak TLS.")]
    public bool Tls { get; set; }

    [Option("cacert", HelpText = "PEM file of the certificates to trust.")]
    public string? CaFile { get; set; }

    [Option("cert", HelpText = "The client's certificate, PEM or PFX.")]
    public string? Certificate { get; set; }

    [Option("key", HelpText = "The client's key, PEM.")]
    public string? Key { get; set; }

    [Option("insecure", HelpText = "Take any certificate.")]
    public bool Insecure { get; set; }

    [Option("sni", HelpText = "Server name to ask for and check.")]
    public string? ServerName { get; set; }
}
