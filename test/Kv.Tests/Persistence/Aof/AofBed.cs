using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Server.Persistence.Aof;
using Kv.Tests.Harness;
using Microsoft.Extensions.Logging.Abstractions;

namespace Kv.Tests.Persistence.Aof;

/// <summary>An append-only file on a disk in memory, written and loaded without a server's clients.</summary>
internal sealed class AofBed : IDisposable
{
    public const string Folder = "/d/appendonlydir";

    private readonly int _databases;

    public AofBed(MemoryDisk disk, AppendFsync policy = AppendFsync.Always, int databases = 16)
    {
        (Disk, _databases) = (disk, databases);
        Options = new ServerOptions { AppendFsync = policy };
        Files = NewFiles(disk);
    }

    public MemoryDisk Disk { get; }

    public ServerOptions Options { get; }

    public AofFiles Files { get; }

    public LatencyMonitor Latency { get; } = new(TimeProvider.System);

    public AofWriter? Writer { get; private set; }

    public TimeProvider Time { get; init; } = TimeProvider.System;

    /// <summary>How often the writer syncs.</summary>
    public int SyncMs { get; init; } = AofWriter.SyncMsUsual;

    /// <summary>How often it was told that more is on the disk.</summary>
    public int Told;

    public static AofFiles NewFiles(IAofDevice disk) =>
        new(disk, "/d", "appendonlydir", "appendonly.aof", NullLogger.Instance);

    /// <summary>Begins to write, in a new increment or after what there is.</summary>
    public AofWriter Open(AofEnd? end = null)
    {
        IAofFile file;
        if (end == null)
        {
            var info = Files.AddIncrement(out file);
            end = AofEnd.OfNew(info);
        }
        else
        {
            file = Files.Device.OpenAppend(Files.PathOf(end.Value.File.Name));
            file.Sync();
        }

        return Writer = new AofWriter(Files, file, end.Value, Options, NullLogger.Instance, Time,
            Latency, _ => { }, () => Interlocked.Increment(ref Told), SyncMs);
    }

    /// <summary>What a server has after it has loaded the files of a disk: each key of the first database, with its
    /// value.</summary>
    /// <param name="kv">A server; what it has goes.</param>
    public static Dictionary<string, string> Load(KvInstance kv, IAofDevice disk, out AofEnd? end,
        bool cutsTail = true)
    {
        kv.Server.Store.FlushAll();
        var files = NewFiles(disk);
        end = null;
        if (files.TryOpen())
        {
            using var guard = kv.Server.Store.Enter();
            end = new AofLoader(kv.Server, files, cutsTail).Load(guard.Session);
        }

        using var client = kv.Connect();
        var found = new Dictionary<string, string>();
        foreach (var key in client.Ok("KEYS *").Items!) found[key.String] = client.Ok($"GET {key.String}").String;
        return found;
    }

    /// <summary>Commands as the feed has them.</summary>
    public static byte[] Resp(params string[] commands)
    {
        var bytes = new MemoryStream();
        foreach (string command in commands)
        {
            string[] words = command.Split(' ');
            bytes.Write(Encoding.UTF8.GetBytes($"*{words.Length}\r\n"));
            foreach (string word in words)
                bytes.Write(Encoding.UTF8.GetBytes($"${Encoding.UTF8.GetByteCount(word)}\r\n{word}\r\n"));
        }

        return bytes.ToArray();
    }

    public void Dispose() => Writer?.Dispose();
}
