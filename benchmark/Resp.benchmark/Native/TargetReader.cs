using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.Native;

/// <summary>Makes targets of their options.</summary>
internal static class TargetReader
{
    private const string PasswordVariable = "RESP_BENCHMARK_PASSWORD";

    /// <summary>All targets, at least one, names all different.</summary>
    /// <exception cref="UsageException">An option's value is off.</exception>
    public static IReadOnlyList<Target> Read(TargetOptions options)
    {
        if (options.Resp is not (2 or 3)) throw new UsageException($"--resp takes 2 or 3, not {options.Resp}");
        var common = new Target
        {
            Host = options.Host, Port = options.Port, UnixPath = options.Unix, User = options.User,
                Password = ReadPassword(options),
            Database = options.Database, RespVersion = options.Resp,
            Tls = options.Tls || options.CaFile is not null || options.Certificate is not null
            ? ReadTls(options) : null,
        };
        if (options.Uri is { } uri) common = WithUri(common, uri, options);

        List<Target> targets = [.. options.Targets.Select(text => ReadNamed(text, common, options))];
        if (targets.Count == 0) targets.Add(common);
        if (targets.Select(target => target.Name).Distinct().Count() < targets.Count)
            throw new UsageException("two targets have the same name: write --target NAME=host:port");
        return targets;
    }

    private static Target ReadNamed(string text, Target common, TargetOptions options)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        if (equals <= 0 || equals == text.Length - 1)
            throw new UsageException($"--target takes NAME=host:port, not '{text}'");
        Target target = common with { Name = text[..equals], UnixPath = null };
        string address = text[(equals + 1)..];
        if (address.Contains("://", StringComparison.Ordinal)) return WithUri(target, address, options);
        if (address[0] == '/') return target with { UnixPath = address };
        int colon = address.LastIndexOf(':');
        if (colon < 0) return target with { Host = address };
        if (!int.TryParse(address[(colon + 1)..], out int port) || port is < 1 or > 65535)
            throw new UsageException($"--target {text}: the port is a number from 1 to 65535");
        return target with { Host = address[..colon].Trim('[', ']'), Port = port };
    }

    private static Target WithUri(Target target, string text, TargetOptions options)
    {
        TargetUri uri = TargetUri.Parse(text) ?? throw new UsageException($"'{text}' is no {TargetUri.Form}");
        return target with
        {
            Host = uri.Host,
            Port = uri.Port ?? new Target().Port,
            User = uri.User ?? target.User,
            Password = uri.Password ?? target.Password,
            Database = uri.Database ?? target.Database,
            Tls = uri.IsSecure ? target.Tls ?? ReadTls(options) : target.Tls,
        };
    }

    private static TlsOptions ReadTls(TargetOptions options) => new()
    {
        ServerName = options.ServerName, Insecure = options.Insecure, CaFile = options.CaFile,
        CertificateFile = options.Certificate, KeyFile = options.Key,
    };

    private static string? ReadPassword(TargetOptions options)
    {
        if (options.Password is not null) return options.Password;
        if (options.PasswordFile is not { } file) return Environment.GetEnvironmentVariable(PasswordVariable);
        try
        {
            return File.ReadLines(file).First();
        }
        catch (Exception failure)
            when (failure is IOException or UnauthorizedAccessException or InvalidOperationException)
        {
            throw new UsageException($"--pass-file {file}: {failure.Message}");
        }
    }
}
