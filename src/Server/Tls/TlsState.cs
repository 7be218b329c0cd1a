using System.Diagnostics;
using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Tls;

/// <summary>TLS of one server: the settings in force, and how they follow options and files.</summary>
/// <remarks>
/// Threads: any. Settings are read and replaced under the options' lock for changes, so that a certificate and its key
/// are of one CONFIG SET, and of two changes the later one stays; handshakes take what is there without it. What cannot
/// be read changes nothing: the settings of before stay.
/// </remarks>
internal sealed class TlsState(ServerOptions options, ILogger log, TimeProvider time) : IDisposable
{
    private const int LookMs = 1000;

    private static readonly string[] Followed =
    [
        "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir",
        "tls-auth-clients", "tls-auth-clients-user", "tls-protocols", "tls-ciphers", "tls-ciphersuites",
        "tls-session-caching",
    ];

    private TlsSettings? _current;
    private string _marks = "";
    private string? _lastError;
    private ITimer? _timer;
    private int _looking;

    /// <summary>What the next handshake goes by; null until there has been a port for TLS.</summary>
    // Volatile: whoever sees the reference sees the immutable settings.
    public TlsSettings? Current => Volatile.Read(ref _current);

    public TlsCounters Counters { get; } = new();

    public HandshakePlaces Places { get; } = new();

    /// <summary>Follows the options from now on, but for the port.</summary>
    public void Follow()
    {
        foreach (string name in Followed) options.OnChange(name, Load, mayRefuse: true);
    }

    /// <summary>Takes over what the options say, if there is a port for TLS. Under the options' lock, or before the
    /// server listens.</summary>
    /// <returns>Null, or why it cannot be; then all is as it was.</returns>
    public string? Load(ServerOptions changed)
    {
        Debug.Assert(changed == options, "the options are the server's own");
        if (options.Tls.Port == 0) return null;
        string? error = Read();
        return error == null ? null : $"Unable to update TLS configuration: {error}";
    }

    /// <summary>Reads all files again.</summary>
    /// <returns>Null when done, or without TLS; else what is wrong: then all is as it was.</returns>
    public string? Reload()
    {
        lock (options.ChangeLock)
        {
            if (options.Tls.Port == 0) return null;
            string? error = Read();
            Counters.CountReload(error != null);
            if (error != null)
                log.LogWarning("TLS goes on with the certificates of before: {Error}", error);
            return error;
        }
    }

    public void Dispose()
    {
        _timer?.Dispose();
        Places.Dispose();
    }

    private string? Read()
    {
        // Marks before files: a file that changes in between is read again.
        _marks = FileMarks.Read(options.Tls);
        try
        {
            var settings = new TlsSettings(options.Tls);
            Volatile.Write(ref _current, settings);
            _lastError = null;
            _timer ??= time.CreateTimer(static self => ((TlsState)self!).Look(), this,
                TimeSpan.FromMilliseconds(LookMs), TimeSpan.FromMilliseconds(LookMs));
            Announce(settings);
            return null;
        }
        catch (TlsFileException exception)
        {
            return _lastError = exception.Message;
        }
    }

    private void Announce(TlsSettings settings)
    {
        var certificate = settings.Certificate;
        if (certificate.NotAfter.ToUniversalTime() <= time.GetUtcNow())
            log.LogWarning("The TLS certificate {Subject} of tls-cert-file has expired on {End:u}: clients will refuse "
                + "it", certificate.Subject, certificate.NotAfter.ToUniversalTime());
        else
            log.LogInformation("TLS certificate {Subject}, valid until {End:u}", certificate.Subject,
                certificate.NotAfter.ToUniversalTime());
    }

    /// <summary>Reads the files again if they have changed. While they cannot be read it tries again each time: a
    /// certificate may come a moment before its key.</summary>
    private void Look()
    {
        // Interlocked: a look that takes long is not joined by the next one.
        if (Interlocked.Exchange(ref _looking, 1) != 0) return;
        try
        {
            lock (options.ChangeLock)
            {
                if (options.Tls.Port == 0) return;
                string? before = _lastError;
                if (before == null && FileMarks.Read(options.Tls) == _marks) return;
                string? error = Read();
                if (error != null && error == before) return;       // counted and logged when it was new
                Counters.CountReload(error != null);
                if (error != null)
                    log.LogWarning("Files of TLS have changed and cannot be used; it goes on with those of before: "
                        + "{Error}", error);
            }
        }
        catch (Exception exception)
        {
            log.LogError(exception, "Looking for changed certificates failed; it is tried again");
        }
        finally
        {
            Volatile.Write(ref _looking, 0);
        }
    }
}
