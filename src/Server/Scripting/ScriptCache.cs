using System.Collections.Concurrent;
using System.Diagnostics;
using Kv.Server.Execution;

namespace Kv.Server.Scripting;

/// <summary>The scripts of a server by their SHA-1. What SCRIPT LOAD brought stays until it is flushed; of what EVAL
/// brought the least recently run goes when it is more than the limit.</summary>
/// <param name="commands">Those that scripts call.</param>
/// <param name="limitBytes">Of what EVAL brought.</param>
/// <param name="charge">Accounts for what is kept.</param>
/// <remarks>Threads: any. Looking up takes no lock; what adds and removes has <see cref="_changes"/>.</remarks>
internal sealed class ScriptCache(CommandTable commands, Func<long> limitBytes, Action<long> charge)
{
    // The SHA-1 of a text takes a millisecond for so many bytes, about.
    private const int HashedAtOnceBytes = 256 << 10;

    private readonly ConcurrentDictionary<ScriptSha, Script> _scripts = [];
    private readonly Lock _changes = new();
    private long _bytes, _passingBytes, _uses;

    public int Count => _scripts.Count;

    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Finds a script that is to be run.</summary>
    public bool TryFind(ScriptSha sha, out Script script)
    {
        if (!_scripts.TryGetValue(sha, out script!)) return false;
        // One that is run again and again, or stays in any case, writes nothing that all workers share.
        if (!script.IsPinned && script.LastUse != Volatile.Read(ref _uses))
            script.LastUse = Interlocked.Increment(ref _uses);
        return true;
    }

    public bool Has(ScriptSha sha) => _scripts.ContainsKey(sha);

    /// <summary>Whether a text takes long to be looked up, or compiled: <see cref="LargeText{T}"/>.</summary>
    public bool TakesLong(ReadOnlySpan<byte> text) => text.Length >= LargeTexts.TextBytesMin
        && (text.Length > HashedAtOnceBytes || !Has(ScriptSha.Of(text)));

    /// <summary>The script of a text, compiled if it is new.</summary>
    /// <param name="isPinned">Whether it stays until it is flushed.</param>
    /// <param name="cancel">Ends the reading of the text.</param>
    /// <exception cref="ScriptRefusedException">It is no script.</exception>
    public Script Add(ReadOnlySpan<byte> text, bool isPinned, CancellationToken cancel = default)
    {
        var sha = ScriptSha.Of(text);
        if (TryFind(sha, out var script) && (script.IsPinned || !isPinned)) return script;
        var compiled = Script.Compile(sha, text, commands, cancel);     // outside of the lock: it takes its time
        lock (_changes)
        {
            if (_scripts.TryGetValue(sha, out script!))
            {
                if (!isPinned || script.IsPinned) return script;
                script.IsPinned = true;
                _passingBytes -= script.Bytes;
                return script;
            }

            compiled.IsPinned = isPinned;
            compiled.LastUse = Interlocked.Increment(ref _uses);
            _scripts[sha] = compiled;
            Account(compiled.Bytes);
            if (isPinned) return compiled;
            _passingBytes += compiled.Bytes;
            if (_passingBytes > limitBytes()) DropOldest(compiled);
            return compiled;
        }
    }

    /// <summary>Forgets all scripts; those that are running go on.</summary>
    public void Flush()
    {
        lock (_changes)
        {
            _scripts.Clear();
            Account(-_bytes);
            _passingBytes = 0;
        }
    }

    // Down to three quarters of the limit, so that the search through all of them is worth it.
    private void DropOldest(Script newest)
    {
        Debug.Assert(_changes.IsHeldByCurrentThread && !newest.IsPinned, "only those that pass are dropped");
        long most = limitBytes() / 4 * 3;
        foreach (var script in _scripts.Values.Where(script => !script.IsPinned)
            .OrderBy(script => script.LastUse).ToList())
        {
            if (_passingBytes <= most) return;
            if (script == newest) continue;
            _scripts.TryRemove(script.Sha, out _);
            _passingBytes -= script.Bytes;
            Debug.Assert(_passingBytes >= 0, "each script is counted once");
            Account(-script.Bytes);
        }
    }

    private void Account(long bytes)
    {
        Debug.Assert(_changes.IsHeldByCurrentThread && _bytes + bytes >= 0, "each script is counted once");
        Volatile.Write(ref _bytes, _bytes + bytes);
        charge(bytes);
    }
}
