using System.Globalization;
using Kv.Server.Configuration;
using Kv.Storage;

namespace Kv.Server.Persistence;

/// <summary>What stands before the keys of a snapshot: what it says of itself, and the libraries.</summary>
internal static class SnapshotHead
{
    public static void Write(RdbFileWriter writer, KvServer server, SnapshotPurpose purpose)
    {
        var store = server.Store;
        writer.Begin(Enumerable.Range(0, server.Options.Databases).Any(n => store.CountWithFieldExpiry(n) > 0));
        writer.WriteAux("redis-ver", ServerVersion.RedisVersion);
        writer.WriteAux("redis-bits", "64");
        writer.WriteAux("ctime", server.Time.GetUtcNow().ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture));
        writer.WriteAux("used-mem", store.UsedBytes.ToString(CultureInfo.InvariantCulture));
        writer.WriteAux("aof-base", purpose == SnapshotPurpose.AppendOnlyBase ? "1" : "0");
        foreach (var library in server.Scripts.Functions.All) writer.WriteLibrary(library.Code);
    }
}
