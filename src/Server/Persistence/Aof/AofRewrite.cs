using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence.Aof;

//   feed      ... 17  18  19 | 20  21 ...          the snapshot's instant is a position of the feed
//   before    base 1, increment 1  ------>
//   after           base 2 of | increment 2
//
//   A crash at any point finds base 1 and both increments, or base 2 and increment 2, by the manifest.

/// <summary>Writes a new base beside clients, and an increment that begins where it ends.</summary>
/// <param name="writer">What writes the file; null: nothing does, or (<paramref name="isFirst"/>) nothing did
/// yet.</param>
/// <param name="isFirst">Whether a writer begins in the instant.</param>
internal sealed class AofRewrite(KvServer server, AofFiles files, AofWriter? writer, bool isFirst,
    Func<IAofFile, AofEnd, AofWriter> newWriter)
{
    private readonly ManualResetEventSlim _cut = new(writer == null);
    private readonly AofWriter? _writer = writer;
    private AofFileInfo? _next;
    private string? _cutError;

    public long Begun { get; } = Stopwatch.GetTimestamp();

    public bool IsFirst => isFirst;

    /// <summary>What begins to write the file in the instant; null: nothing does.</summary>
    public AofWriter? Writer { get; private set; }

    public long BaseBytes { get; private set; }

    /// <summary>What the writer had written to other files before the instant.</summary>
    public long EarlierBytes { get; private set; }

    /// <param name="ended">Called at the end, from another thread, with null or what went wrong.</param>
    /// <param name="error">What went wrong at the beginning, if something did.</param>
    /// <returns>False: it has not begun.</returns>
    public bool TryBegin(Action<string?> ended, out string? error)
    {
        error = null;
        try
        {
            if (isFirst)
            {
                _next = files.AddTemporaryIncrement(out var file);
                Writer = newWriter(file, AofEnd.OfNew(_next));
                Writer.MayResume = false;
            }
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            error = exception.Message;
            return false;
        }

        bool hasBegun;
        using (var guard = server.Store.Enter())
        {
            hasBegun = server.Snapshots.TryBegin(guard.Session, SnapshotPurpose.AppendOnlyBase, files.TemporaryBase,
                AtInstant, failure => ended(End(failure)), out error);
        }

        if (!hasBegun && isFirst) Writer!.Dispose();
        return hasBegun;
    }

    /// <summary>All others stand still.</summary>
    private void AtInstant()
    {
        if (isFirst) Writer!.Attach(server.Feed);
        else if (_writer != null) server.Feed.CutAt(server.Feed.Position, Cut);
    }

    /// <summary>On kv-feed, between what the base has and what it has not.</summary>
    private void Cut()
    {
        _next = _writer!.TrySwitch(out _cutError);
        EarlierBytes = _writer.EarlierBytes;
        _cut.Set();
    }

    private string? End(string? failure)
    {
        // What the base does not have is in the new increment from here on, whatever becomes of the base.
        _cut.Wait();
        _cut.Dispose();
        try
        {
            failure ??= _cutError;
            if (failure == null && isFirst) failure = Writer!.Sync() ?? Writer.Error;
            if (failure == null)
            {
                string written = files.TemporaryBase;
                if (!server.Options.AofUseRdbPreamble)
                {
                    written = files.TemporaryCommandBase;
                    CommandBase.Write(server, files, files.TemporaryBase, written, files.NextBase);
                    files.TryDelete(files.TemporaryBase);
                }

                BaseBytes = new FileInfo(written).Length;
                files.SetBase(written, written == files.TemporaryBase ? AofFiles.RdbEnding : AofFiles.AofEnding, _next,
                    isTemporary: isFirst);
                if (isFirst) Writer!.MayResume = true;
            }
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            failure = exception.Message;
        }

        if (failure == null) return null;
        files.TryDelete(files.TemporaryBase);
        files.TryDelete(files.TemporaryCommandBase);
        if (isFirst) EndWriter();
        return failure;
    }

    /// <summary>The file was not switched on.</summary>
    private void EndWriter()
    {
        if (!WriterPause.TryDetach(server, Writer!)) return;        // the server ends
        Writer!.Dispose();
        files.TryDelete(files.TemporaryIncrement);
        server.Data.LogError("The append-only file is still off");
    }
}
