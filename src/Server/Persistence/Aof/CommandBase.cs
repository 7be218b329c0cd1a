using System.Buffers;
using System.Diagnostics;
using Kv.Server.Effects;
using Kv.Storage;

namespace Kv.Server.Persistence.Aof;

//   base in RDB form  --read-->  a store of its own, a key at a time  --commands, in groups with sums-->  base.aof
//
//   Commands add at most ItemsMax elements each, as those that Redis writes.

/// <summary>Makes a base of commands from one that is a snapshot: for <c>aof-use-rdb-preamble no</c>.</summary>
/// <remarks>
/// After the snapshot, so that nobody waits for it. What is pending in a group of a stream, though its entry was
/// deleted, is left out, as by Redis: there is no command for it. Threads: one, that of the snapshot.
/// </remarks>
internal sealed class CommandBase : IRdbSink, IDisposable
{
    private const int ItemsMax = 64, GroupBytes = 256 * 1024;

    /// <summary>How much is written between two times that the store frees what it had.</summary>
    private const long FreeEvery = 4 << 20;

    private readonly KvServer _server;
    private readonly IAofFile _file;
    private readonly Store _store;
    private readonly StoreSession _session;
    private readonly EffectBytes _command = new();
    private readonly ArrayBufferWriter<byte> _group = new(GroupBytes);
    private long _position, _freedAt;
    private uint _sum;
    private int _database = -1, _inTurn;

    private CommandBase(KvServer server, IAofFile file, long sequence)
    {
        (_server, _file, _sum) = (server, file, AofGroup.FirstSum(sequence));
        // All keys are in its first database; the reader asks how many there are.
        _store = new Store(new StoreOptions
        {
            Databases = server.Options.Databases, SessionsMax = 2, Background = false,
        });
        _session = _store.CreateSession();
        WriteGroup();
    }

    /// <summary>Writes it, and has it on the disk.</summary>
    /// <param name="snapshot">The base in RDB form.</param>
    /// <param name="path">Where the commands go.</param>
    /// <param name="sequence">The number of the base.</param>
    /// <exception cref="IOException">It could not be read or written, or the server ends.</exception>
    public static void Write(KvServer server, AofFiles files, string snapshot, string path, long sequence)
    {
        using var source = new FileStream(snapshot, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0,
            FileOptions.SequentialScan);
        using var file = files.OpenNew(path);
        using var commands = new CommandBase(server, file, sequence);
        using var reader = new RdbFileReader(commands._store, source, server.Options.RdbChecksum);
        commands._session.BeginTurn();
        reader.Read(commands);
        commands.WriteGroup();
        file.Sync();
    }

    public void Note(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        // Of the snapshot, which this is none.
    }

    public void AddLibrary(ReadOnlySpan<byte> text)
    {
        Begin(3, "FUNCTION"u8);
        _command.Add("LOAD"u8);
        _command.Add(text);
        End();
    }

    public void BeginDatabase(int number)
    {
        if (number == _database) return;
        _database = number;
        Begin(2, "SELECT"u8);
        _command.Add(number);
        End();
    }

    public void Expect(long keys)
    {
    }

    public bool TryAdd(ReadOnlySpan<byte> key, ref RdbValue value, long expiryMs, RdbUse use)
    {
        if (_server.IsStopping) throw new RdbFileException("the server ends before the base is written");
        using (var held = _session.Hold(_session.Key(key), DataType.Any, value.ExpectedBytes))
        {
            if (held.Status == StoreStatus.Ok && held.Value.Exists) return false;
            var status = held.Status == StoreStatus.Ok ? value.Store(held.Value, NewValue.NoExpiry) : held.Status;
            if (status != StoreStatus.Ok) throw new RdbFileException("the system has no memory for a value");
            WriteValue(key, held.Value.View);
            held.Value.Delete();
        }

        if (expiryMs != NewValue.NoExpiry)
        {
            Begin(3, "PEXPIREAT"u8);
            _command.Add(key);
            _command.Add(expiryMs);
            End();
        }

        Free();
        return true;
    }

    public void Dispose()
    {
        _session.Dispose();
        _store.Dispose();
    }

    /// <summary>Lets go of the memory of keys that have been written.</summary>
    private void Free()
    {
        Debug.Assert(_freedAt <= _position, "the file only grows");
        const int keysPerTurn = 256;
        if (++_inTurn < keysPerTurn && _position - _freedAt < FreeEvery) return;
        (_inTurn, _freedAt) = (0, _position);
        _session.GoOffline();
        _store.Maintain();
        _session.BeginTurn();
    }

    private void WriteValue(ReadOnlySpan<byte> key, in ValueView value)
    {
        ref readonly KeyHash hash = ref _store.Hash;
        switch (value.Type)
        {
            case DataType.List:
                WriteList(key, new ListView(value));
                break;
            case DataType.Set:
                WriteSet(key, new SetView(value, in hash));
                break;
            case DataType.Hash:
                WriteHash(key, new HashView(value, in hash, nowMs: 0));
                break;
            case DataType.SortedSet:
                WriteSortedSet(key, new SortedSetView(value, in hash));
                break;
            case DataType.Stream:
                StreamBase.Write(this, key, new LargeStream(value.Region));
                break;
            default:
                Begin(3, "SET"u8);
                _command.Add(key);
                if (value.Kind == ValueKind.Integer) _command.Add(value.Integer);
                else _command.Add(value.Bytes);
                End();
                break;
        }
    }

    private void WriteList(ReadOnlySpan<byte> key, ListView list)
    {
        long left = list.Count;
        for (var walk = list.GetWalk(); walk.Next(out var element); left--)
        {
            BeginItems("RPUSH"u8, key, list.Count, left, words: 1);
            _command.Add(element);
            EndItems(list.Count, left);
        }
    }

    private void WriteSet(ReadOnlySpan<byte> key, SetView set)
    {
        long left = set.Count;
        for (var walk = set.GetWalk(); walk.Next(out var member); left--)
        {
            BeginItems("SADD"u8, key, set.Count, left, words: 1);
            _command.Add(member);
            EndItems(set.Count, left);
        }
    }

    private void WriteHash(ReadOnlySpan<byte> key, HashView hash)
    {
        long left = hash.Count;
        for (var walk = hash.GetWalk(); walk.Next(out var field, out var content); left--)
        {
            BeginItems("HSET"u8, key, hash.Count, left, words: 2);
            _command.Add(field);
            _command.Add(content);
            EndItems(hash.Count, left);
        }

        for (var walk = hash.GetWalk(); walk.Next(out var field, out _, out long expiryMs);)
        {
            if (expiryMs == FieldExpiry.None) continue;
            Begin(6, "HPEXPIREAT"u8);
            _command.Add(key);
            _command.Add(expiryMs);
            _command.Add("FIELDS"u8);
            _command.Add(1);
            _command.Add(field);
            End();
        }
    }

    private void WriteSortedSet(ReadOnlySpan<byte> key, SortedSetView set)
    {
        Span<byte> text = stackalloc byte[ScoreText.BytesMax];
        long left = set.Count;
        for (var walk = set.From(0); walk.Next(out var member, out double score); left--)
        {
            BeginItems("ZADD"u8, key, set.Count, left, words: 2);
            _command.Add(text[..ScoreText.Format(score, text)]);
            _command.Add(member);
            EndItems(set.Count, left);
        }
    }

    /// <summary>Begins a command, where the one before has all that it takes.</summary>
    private void BeginItems(ReadOnlySpan<byte> name, ReadOnlySpan<byte> key, long count, long left, int words)
    {
        if ((count - left) % ItemsMax != 0) return;
        Begin(2 + (words * (int)Math.Min(ItemsMax, left)), name);
        _command.Add(key);
    }

    private void EndItems(long count, long left)
    {
        if (left == 1 || (count - left + 1) % ItemsMax == 0) End();
    }

    /// <summary>Begins a command of so many words.</summary>
    /// <returns>What the other words are added to, before <see cref="End"/>.</returns>
    internal EffectBytes Begin(int words, ReadOnlySpan<byte> name)
    {
        _command.Begin(EffectBytes.NoDatabase, words);
        _command.Add(name);
        return _command;
    }

    internal void End()
    {
        _command.End();
        _group.Write(_command.Span[EffectBytes.HeadBytes..]);
        _command.Clear();
        if (_group.WrittenCount >= GroupBytes) WriteGroup();
    }

    private void WriteGroup()
    {
        Span<byte> line = stackalloc byte[AofGroup.LineBytes];
        var commands = _group.WrittenSpan;
        _sum = AofSum.Add(_sum, commands);
        new AofGroup(_position, commands.Length, 0, _sum).Write(line);
        _file.Write(line);
        _file.Write(commands);
        _position += line.Length + commands.Length;
        if (_group.WrittenCount > 2 * GroupBytes) _group.Clear();
        _group.ResetWrittenCount();
    }
}
