using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Kv.Server.Families;

/// <summary>A connection to the server that keys are sent to: commands out, one line of reply for each.</summary>
/// <remarks>
/// Nothing of it holds a thread while it waits, and each wait has the request's timeout. Whatever goes wrong is a
/// <see cref="MigrationException"/>. Threads: one at a time. Cost: 68 KB of buffers.
/// </remarks>
internal sealed class MigrationTarget : IDisposable
{
    /// <summary>As much as Redis sends within one timeout.</summary>
    private const int OutputBytes = 64 * 1024;

    private const int LineBytesMax = 4096;

    // The words of Redis, wrong ones included.
    private const string Connecting = "connecting to the client", Writing = "writing to target instance",
        Reading = "reading to target instance";

    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly TimeProvider _time;
    private readonly TimeSpan _timeout;
    private readonly CancellationToken _ended;
    private readonly byte[] _output = new byte[OutputBytes], _input = new byte[LineBytesMax];
    private int _written, _at, _end;

    private MigrationTarget(TimeProvider time, TimeSpan timeout, CancellationToken ended)
    {
        _time = time;
        _timeout = timeout;
        _ended = ended;
    }

    /// <summary>Connects.</summary>
    /// <param name="request">Where to.</param>
    /// <param name="time">The clock of timeouts.</param>
    /// <param name="ended">Ends all waits, of this and of everything behind it.</param>
    public static async Task<MigrationTarget> ConnectAsync(MigrationRequest request, TimeProvider time,
        CancellationToken ended)
    {
        var target = new MigrationTarget(time, request.Timeout, ended);
        try
        {
            await target.ConnectAsync(request.Host, request.Port).ConfigureAwait(false);
            return target;
        }
        catch
        {
            target.Dispose();
            throw;
        }
    }

    /// <summary>Appends bytes of commands, as many as fit.</summary>
    /// <returns>How many; when it is not all, flush and append the rest.</returns>
    public int Append(ReadOnlySpan<byte> bytes)
    {
        int count = Math.Min(bytes.Length, OutputBytes - _written);
        bytes[..count].CopyTo(_output.AsSpan(_written));
        _written += count;
        Debug.Assert(_written <= OutputBytes, "the buffer has an end");
        return count;
    }

    /// <summary>Appends an argument of a command: any bytes.</summary>
    public async Task WriteBulkAsync(ReadOnlyMemory<byte> bytes)
    {
        await WriteLineAsync('$', bytes.Length).ConfigureAwait(false);
        await WriteAsync(bytes).ConfigureAwait(false);
        await WriteAsync("\r\n"u8.ToArray()).ConfigureAwait(false);
    }

    /// <summary>Appends an argument that is text.</summary>
    public Task WriteBulkAsync(string text) => WriteBulkAsync(Encoding.ASCII.GetBytes(text));

    /// <summary>Appends the line in front of an argument, '$', or of a command, '*'.</summary>
    public Task WriteLineAsync(char type, long count) =>
        WriteAsync(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{type}{count}\r\n")));

    /// <summary>Appends bytes as they are.</summary>
    public async Task WriteAsync(ReadOnlyMemory<byte> bytes)
    {
        // Ends: a buffer that was sent has room.
        while (!(bytes = bytes[Append(bytes.Span)..]).IsEmpty) await FlushAsync().ConfigureAwait(false);
    }

    /// <summary>Sends what was appended.</summary>
    public async Task FlushAsync()
    {
        int length = _written;
        _written = 0;
        // Ends: each round sends something, or fails.
        for (int sent = 0; sent < length;)
            sent += await InTimeAsync(limit => _socket.SendAsync(_output.AsMemory(sent, length - sent), limit), Writing)
                .ConfigureAwait(false);
    }

    /// <summary>The next line of reply, without its end.</summary>
    public async Task<string> ReadLineAsync()
    {
        var line = new StringBuilder();
        // Ends: with a line, with its greatest length, or with the connection.
        while (true)
        {
            if (_at == _end) await ReceiveAsync().ConfigureAwait(false);
            int newline = _input.AsSpan(_at.._end).IndexOf((byte)'\n'), count = newline < 0 ? _end - _at : newline;
            line.Append(Encoding.Latin1.GetString(_input, _at, count));
            _at += newline < 0 ? count : count + 1;
            if (newline >= 0) return line.ToString().TrimEnd('\r');
            if (line.Length > LineBytesMax) throw MigrationException.Lost(Reading);
        }
    }

    public void Dispose() => _socket.Dispose();

    private async Task ConnectAsync(string host, string portText)
    {
        if (!int.TryParse(portText, NumberStyles.None, CultureInfo.InvariantCulture, out int port) || port is 0
            or > IPEndPoint.MaxPort)
            throw MigrationException.Lost(Connecting);
        try
        {
            await InTimeAsync(async limit =>
            {
                await _socket.ConnectAsync(host, port, limit).ConfigureAwait(false);
                return 0;
            }, Connecting).ConfigureAwait(false);
        }
        catch (MigrationException lost)
            when (lost.InnerException is SocketException {
                SocketErrorCode: not (SocketError.HostNotFound or SocketError.TryAgain or SocketError.NoData) })
        {
            // Redis notices that nobody listens there when it writes, and says so.
            throw MigrationException.Lost(Writing, lost.InnerException);
        }
    }

    private async Task ReceiveAsync()
    {
        _at = 0;
        _end = await InTimeAsync(limit => _socket.ReceiveAsync(_input.AsMemory(), limit), Reading)
            .ConfigureAwait(false);
        if (_end == 0) throw MigrationException.Lost(Reading);
    }

    private async Task<T> InTimeAsync<T>(Func<CancellationToken, ValueTask<T>> work, string action)
    {
        using var timeout = new CancellationTokenSource(_timeout, _time);
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(timeout.Token, _ended);
        try
        {
            return await work(limit.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            _ended.ThrowIfCancellationRequested();
            throw MigrationException.Lost(action, exception);
        }
    }
}
