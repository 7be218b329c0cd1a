using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Server.Tls;
using Kv.Server.Users;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>What comes before the first command of a connection over TLS.</summary>
/// <remarks>
/// The connection has a place among the handshakes (<see cref="HandshakePlaces"/>) until the handshake is over.
/// Threads: the connection's loop; <see cref="IsLate"/> is the sweep's. How it ends is counted once.
/// </remarks>
/// <param name="stream">TLS over <paramref name="inner"/>.</param>
/// <param name="inner">The bytes of <paramref name="socket"/>.</param>
internal sealed class TlsHandshake(KvServer server, SslStream stream, Stream inner, Socket socket)
{
    private const string CommonName = "2.5.4.3";
    private const int DrainMs = 1000;

    private volatile bool _hasBegun, _isOver, _isLate;
    private string? _refusal;

    /// <summary>Whether it has ended, in whatever way.</summary>
    public bool IsOver => _isOver;

    /// <summary>Whether the client may send commands.</summary>
    public bool IsCompleted { get; private set; }

    /// <summary>Whether it takes longer than it may: then the connection is to be closed.</summary>
    public bool IsLate(long now, Session session)
    {
        if (_isOver || now - session.CreatedTickMs < server.Tls.Places.PatienceOf(_hasBegun)) return false;
        _isLate = true;
        return true;
    }

    /// <summary>Runs it.</summary>
    /// <returns>False when the connection is to be closed.</returns>
    public async ValueTask<bool> RunAsync(Session session)
    {
        try
        {
            if (await BeginsPlainAsync().ConfigureAwait(false)) NotePlain(session);
            else
            {
                _hasBegun = true;
                var settings = server.Tls.Current
                    ?? throw new InvalidOperationException("there is no port for TLS without settings");
                await stream.AuthenticateAsServerAsync(settings.ForConnection(why => _refusal = why))
                    .ConfigureAwait(false);
                if (settings.ClientUser == TlsClientUser.CommonName) Introduce(session);
                server.Tls.Counters.CountCompleted();
                IsCompleted = true;
                if (inner is PolledStream polled) polled.ContinuesInPoller = true;
                return true;
            }
        }
        catch (Exception exception)
        {
            NoteFailure(session, exception);
        }
        finally
        {
            _isOver = true;
            server.Tls.Places.Leave();
        }

        await DrainAsync().ConfigureAwait(false);
        return false;
    }

    /// <summary>Waits for the client's first byte.</summary>
    // The stream is at its first byte: with an empty buffer it may say that something is there when nothing is.
    private async ValueTask<bool> BeginsPlainAsync()
    {
        byte[] first = new byte[1];
        while (true)
        {
            // Ends: with the first byte or the client's end.
            await inner.ReadAsync(Memory<byte>.Empty).ConfigureAwait(false);
            int count = socket.Receive(first, SocketFlags.Peek, out var error);
            if (error == SocketError.Success && count == 1) return first[0] != Dispatcher.TlsHandshake;
            if (error is not (SocketError.WouldBlock or SocketError.Interrupted)) throw new ClientGoneException();
            await Task.Delay(1).ConfigureAwait(false);
        }
    }

    private void NotePlain(Session session)
    {
        server.Tls.Counters.CountPlain();
        server.Tls.Counters.CountFailed();
        if (server.LogBrakes.Tls.TryTake(server.TickMs, out string more))
            server.Log.LogInformation("Client {Address} does not speak TLS, on the port for TLS; closed{More}",
                session.Address, more);
    }

    /// <summary>Receives for a moment, so that the client sees an alert and the end rather than a reset.</summary>
    private async ValueTask DrainAsync()
    {
        if (_isLate || !socket.Connected) return;
        byte[] rest = new byte[1024];
        socket.Shutdown(SocketShutdown.Send);
        long until = server.TickMs + DrainMs;
        while (true)
        {
            // Ends: with the client's side, or the time.
            var left = TimeSpan.FromMilliseconds(Math.Max(until - server.TickMs, 1));
            if (await inner.ReadAsync(rest).AsTask().WaitAsync(left).ConfigureAwait(false) == 0) return;
            if (server.TickMs >= until) return;
        }
    }

    private void NoteFailure(Session session, Exception exception)
    {
        server.Tls.Counters.CountFailed();
        if (_isLate) server.Tls.Counters.CountLate();
        // Who connects and leaves only looks whether somebody listens; and the server itself may end the connection.
        else if (exception is ClientGoneException || session.IsKilled || IsOwnEnd(exception)) return;
        if (!server.LogBrakes.Tls.TryTake(server.TickMs, out string more)) return;
        string why = _isLate ? "it took too long" : _refusal ?? exception.GetBaseException().Message;
        server.Log.LogInformation("TLS handshake of client {Address} failed: {Reason}{More}", session.Address, why,
            more);
    }

    private static bool IsOwnEnd(Exception exception) => exception.GetBaseException() is ObjectDisposedException
        or OperationCanceledException or SocketException { SocketErrorCode: SocketError.OperationAborted };

    /// <summary>Makes the client the user that its certificate names, if there is such a user.</summary>
    private void Introduce(Session session)
    {
        if (stream.RemoteCertificate is not X509Certificate2 certificate) return;
        var name = certificate.SubjectName.EnumerateRelativeDistinguishedNames(reversed: false)
            .FirstOrDefault(part => !part.HasMultipleElements && part.GetSingleElementType().Value == CommonName);
        if (name?.GetSingleElementValue() is not { } text) return;
        if (server.Users.Find(UserTable.FromOption(text)) is not { Rules.IsOn: true } user) return;
        session.User = user;
        session.Authenticated = true;
    }

    /// <summary>The client has closed the connection before it sent anything.</summary>
    private sealed class ClientGoneException : IOException;
}
