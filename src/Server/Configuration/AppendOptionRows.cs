namespace Kv.Server.Configuration;

/// <summary>The options of the append-only file.</summary>
internal static class AppendOptionRows
{
    internal static readonly Option[] Rows =
    [
        new Option<bool>("appendonly", YesNoType.Instance, o => o.AppendOnly, (o, v) => o.AppendOnly = v)
        {
            Summary = "write what changes to the append-only file, and start from it", IsSwitch = true,
            Switches = ["aof"], Change = OptionChange.ByHandler,
        },
        new Option<AppendFsync>("appendfsync",
            new WordType<AppendFsync>(("everysec", AppendFsync.EverySec), ("always", AppendFsync.Always),
                ("no", AppendFsync.No)),
            o => o.AppendFsync, (o, v) => o.AppendFsync = v)
        {
            Summary = "when it is on disk: before replies, in a second, as the system likes",
            Change = OptionChange.Live,
        },
        new Option<string>("appendfilename", KeptOptions.FileName("appendfilename", "filename"),
            o => o.AppendFilename, (o, v) => o.AppendFilename = v)
        {
            Summary = "what the names of its files begin with",
        },
        new Option<string>("appenddirname", KeptOptions.FileName("appenddirname", "dirname"), o => o.AppendDirname,
            (o, v) => o.AppendDirname = v)
        {
            Summary = "name of its folder in dir",
        },
        new Option<long>("auto-aof-rewrite-percentage", new NumberType(0, int.MaxValue),
            o => o.AutoAofRewritePercentage, (o, v) => o.AutoAofRewritePercentage = (int)v)
        {
            Summary = "growth at which it is written anew; 0 never", Change = OptionChange.Live,
        },
        new Option<long>("auto-aof-rewrite-min-size", new BytesType(0, long.MaxValue), o => o.AutoAofRewriteMinSize,
            (o, v) => o.AutoAofRewriteMinSize = v)
        {
            Summary = "size below which it is not", Change = OptionChange.Live,
        },
        new Option<bool>("no-appendfsync-on-rewrite", YesNoType.Instance, o => o.NoAppendfsyncOnRewrite,
            (o, v) => o.NoAppendfsyncOnRewrite = v)
        {
            Summary = "leave it to the system while a snapshot or a base is written", Change = OptionChange.Live,
        },
        new Option<bool>("aof-load-truncated", YesNoType.Instance, o => o.AofLoadTruncated,
            (o, v) => o.AofLoadTruncated = v)
        {
            Summary = "start although the end was not written whole, without that end", Change = OptionChange.Live,
        },
        new Option<bool>("aof-timestamp-enabled", YesNoType.Instance, o => o.AofTimestampEnabled,
            (o, v) => o.AofTimestampEnabled = v)
        {
            Summary = "note the time of each second in it", Change = OptionChange.Live,
        },
        new Option<bool>("aof-disable-auto-gc", YesNoType.Instance, o => o.AofDisableAutoGc,
            (o, v) => o.AofDisableAutoGc = v)
        {
            Summary = "keep files that have been replaced", Change = OptionChange.Live,
        },
        new Option<long>("aof-buffer-limit", new BytesType(1 << 20, long.MaxValue), o => o.AofBufferLimit,
            (o, v) => o.AofBufferLimit = v)
        {
            Summary = "bytes for the disk before writers wait, at most max(4 MB, maxmemory / 8)",
            Change = OptionChange.Live,
        },
    ];
}
