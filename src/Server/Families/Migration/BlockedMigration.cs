using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Families;

//   for each 128 keys:   watch ─► hold, write as DUMP does ─► RESTORE ... ─► their replies
//   at the end:          hold 1,024 at a time ─► delete those that were taken and have not changed

/// <summary>MIGRATE: sends keys to another server, and deletes here those that it has taken.</summary>
/// <remarks>
/// The client waits as for BLPOP; the work is done by threads of the pool, and none of them waits for the target. No
/// key is held while the target is waited for: others may read and write meanwhile. So that no write is lost, each key
/// is watched from before its value is read, and deleted only if it is unchanged then, under its lock; what has changed
/// stays, and the reply says so. Keys of which the target has said nothing stay, too. A client that leaves ends it:
/// what is not deleted by then stays here, and may be at the target as well.
/// </remarks>
internal sealed class BlockedMigration : BlockedCommand
{
    /// <summary>Keys that are sent before their replies are read: those fit into the buffers of any connection, so
    /// neither side waits for the other to read.</summary>
    private const int KeysPerRound = 128;

    /// <summary>Keys that are deleted at one instant.</summary>
    private const int KeysPerHold = 1024;

    /// <summary>What is kept of a key, beside its name: that it is watched and sent.</summary>
    private const int BytesPerKey = 256;

    private readonly KvServer _server;
    private readonly Store _store;
    private readonly MigrationRequest _request;
    private readonly int _database;
    private readonly StepsOwner _owner;
    private readonly List<SentKey> _sent = [];

    // Has neither timer nor registration when the work is over, so that it needs no end of its own: the client may
    // leave at any time.
    private readonly CancellationTokenSource _ended = new();
    private string? _error;

    public BlockedMigration(ref CommandContext context, MigrationRequest request)
        : base(context.Session)
    {
        _server = context.Server;
        _store = context.Server.Store;
        _request = request;
        _database = context.Session.Database;
        _owner = new StepsOwner(context);
    }

    /// <summary>Does all of it. Once, after the client has begun to wait.</summary>
    public async Task RunAsync()
    {
        long bytes = _request.Keys.Sum(key => (long)key.Length + BytesPerKey);
        _store.ChargeManaged(bytes);
        try
        {
            bool isAny = Array.Exists(_request.Keys, Exists);
            if (isAny) await TransferAsync().ConfigureAwait(false);
            Answer(isAny ? "+OK" : "+NOKEY");
        }
        catch (OperationCanceledException) when (_ended.IsCancellationRequested)
        {
            // Nobody waits for an answer.
        }
        catch (Exception exception)
        {
            if (exception is not MigrationException)
                _server.Log.LogError(exception, "MIGRATE of client {Client} failed", Session.Id);
            _error ??= exception is MigrationException ? exception.Message : Encoding.ASCII.GetString(Errors.Internal);
            Answer("");
        }
        finally
        {
            foreach (var key in _sent) key.Dispose();
            _store.ChargeManaged(-bytes);
        }
    }

    public override void Dispose()
    {
        // Elsewhere: what is waited for is not ended by this thread.
        _ = _ended.CancelAsync();
        base.Dispose();
    }

    /// <inheritdoc/>
    // It waits for no key.
    protected internal override bool TryServe(ref Serving serving) => false;

    /// <inheritdoc/>
    // CLIENT UNBLOCK has ended it.
    protected override void WriteTimeout(ReplyWriter reply) =>
        reply.WriteError("IOERR error or timeout reading to target instance"u8);

    private bool Exists(byte[] name)
    {
        using var guard = Enter();
        return guard.Session.Exists(guard.Session.Key(name));
    }

    private async Task TransferAsync()
    {
        using var target = await MigrationTarget.ConnectAsync(_request, _server.Time, _ended.Token)
            .ConfigureAwait(false);
        if (!await GreetAsync(target).ConfigureAwait(false)) return;
        using var dump = new ValueDump(_store, _server.Options.RdbCompression, _owner);
        for (int i = 0; i < _request.Keys.Length; i += KeysPerRound)
        {
            int first = _sent.Count;
            foreach (byte[] name in _request.Keys.AsMemory(
                i, Math.Min(KeysPerRound, _request.Keys.Length - i)).ToArray())
                await SendAsync(target, dump, name).ConfigureAwait(false);
            await target.FlushAsync().ConfigureAwait(false);
            for (int sent = first; sent < _sent.Count; sent++)
                _sent[sent].IsTaken = IsOk(await target.ReadLineAsync().ConfigureAwait(false));
        }
    }

    /// <summary>Says who it is, and which database is meant. Unlike Redis it sends nothing before the target has
    /// agreed: no key gets into a wrong one.</summary>
    private async Task<bool> GreetAsync(MigrationTarget target)
    {
        if (_request.Password != null)
        {
            await target.WriteLineAsync('*', _request.User == null ? 2 : 3).ConfigureAwait(false);
            await target.WriteBulkAsync("AUTH").ConfigureAwait(false);
            if (_request.User != null) await target.WriteBulkAsync(_request.User).ConfigureAwait(false);
            await target.WriteBulkAsync(_request.Password).ConfigureAwait(false);
        }

        await target.WriteLineAsync('*', 2).ConfigureAwait(false);
        await target.WriteBulkAsync("SELECT").ConfigureAwait(false);
        await target.WriteBulkAsync(_request.TargetDatabase.ToString(CultureInfo.InvariantCulture))
            .ConfigureAwait(false);
        await target.FlushAsync().ConfigureAwait(false);
        return (_request.Password == null || IsOk(await target.ReadLineAsync().ConfigureAwait(false)))
            && IsOk(await target.ReadLineAsync().ConfigureAwait(false));
    }

    /// <summary>Appends a RESTORE of a key, unless it is not there any more.</summary>
    private async Task SendAsync(MigrationTarget target, ValueDump dump, byte[] name)
    {
        if (!TryBegin(dump, name, out long leftMs)) return;
        // Ends: each step gets on, or somebody else is at it.
        while (!dump.Step())
        {
            _ended.Token.ThrowIfCancellationRequested();
            await Task.Yield();     // others of the pool have their turn
        }

        if (dump.Output.Status != StoreStatus.Ok)
            throw new MigrationException(Encoding.ASCII.GetString(Errors.For(dump.Output.Status)));
        await target.WriteLineAsync('*', _request.Replaces ? 5 : 4).ConfigureAwait(false);
        await target.WriteBulkAsync("RESTORE").ConfigureAwait(false);
        await target.WriteBulkAsync(name).ConfigureAwait(false);
        await target.WriteBulkAsync(leftMs.ToString(CultureInfo.InvariantCulture)).ConfigureAwait(false);
        await target.WriteLineAsync('$', dump.Output.Length).ConfigureAwait(false);
        // Ends: a buffer that was sent has room.
        for (int at = 0; (at += target.Append(dump.Output.Written[at..])) < dump.Output.Length;)
            await target.FlushAsync().ConfigureAwait(false);
        await target.WriteAsync("\r\n"u8.ToArray()).ConfigureAwait(false);
        if (_request.Replaces) await target.WriteBulkAsync("REPLACE").ConfigureAwait(false);
    }

    /// <param name="leftMs">How long the key is to live; 0: for ever.</param>
    private bool TryBegin(ValueDump dump, byte[] name, out long leftMs)
    {
        leftMs = 0;
        using var guard = Enter();
        var session = guard.Session;
        var key = session.Key(name);
        KeyWatches? watch = null;
        if (!_request.Copies)
        {
            watch = new KeyWatches(_store);
            watch.Add(session, _database, key);
        }

        var sent = new SentKey(name, watch);
        using var held = session.Hold(key, DataType.Any);
        if (held.Status != StoreStatus.Ok)
        {
            sent.Dispose();
            return false;
        }

        _sent.Add(sent);
        long expiryMs = held.Value.View.ExpiryMs;
        if (expiryMs != NewValue.NoExpiry) leftMs = Math.Max(1, expiryMs - session.NowMs);
        Debug.Assert(leftMs >= 0, "what has expired is not sent");
        dump.BeginAny(held);
        return true;
    }

    // Anything else than "+OK" is no word of a server that has taken something: what is sent to some other program's
    // port stays here.
    private bool IsOk(string line)
    {
        if (line == "+OK") return true;
        _error ??= $"ERR Target instance replied with error: {(line.StartsWith('-') ? line[1..] : line)}";
        return false;
    }

    private void Answer(string reply)
    {
        if (!TryClaim()) return;
        try
        {
            int changed = DeleteTaken();
            if (changed != 0)
                _error ??= $"ERR {changed} of the keys have changed while they were sent; they stay here, the target "
                    + $"has them as they were";
        }
        catch (Exception exception)
        {
            _server.Log.LogError(exception, "MIGRATE of client {Client} could not delete what it has sent", Session.Id);
            _error ??= Encoding.ASCII.GetString(Errors.Internal);
        }

        Finish(Encoding.Latin1.GetBytes(_error == null ? $"{reply}\r\n" : $"-{_error}\r\n"));
    }

    /// <returns>How many keys stay here because they have changed.</returns>
    private int DeleteTaken()
    {
        if (_request.Copies) return 0;
        int changed = 0;
        var taken = _sent.FindAll(key => key.IsTaken);
        for (int i = 0; i < taken.Count; i += KeysPerHold)
            changed += Delete(taken.GetRange(i, Math.Min(KeysPerHold, taken.Count - i)));
        return changed;
    }

    private int Delete(List<SentKey> keys)
    {
        Debug.Assert(keys.Count is > 0 and <= KeysPerHold, "few keys are held at a time");
        using var guard = Enter();
        var list = guard.Session.Keys;
        list.Clear();
        foreach (var key in keys) list.Add(key.Name, _database);
        using var held = guard.Session.Hold(list);
        if (held.Status != StoreStatus.Ok)
        {
            // No memory for placeholders of those that have gone. Of one key alone: then it has gone, and there is
            // nothing to do.
            return keys.Count == 1 ? 0 : keys.Sum(key => Delete([key]));
        }

        int changed = 0;
        for (int i = 0; i < keys.Count; i++)
        {
            if (!held.Exists(i)) continue;      // deleted or expired meanwhile: as if that had come behind this
            if (keys[i].IsUnchanged(guard.Session.Table)) held.Delete(i);
            else changed++;
        }

        return changed;
    }

    private StoreGuard Enter()
    {
        var guard = _store.Enter();
        guard.Session.Select(_database);
        return guard;
    }
}
