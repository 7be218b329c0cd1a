using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Diagnostics;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Notes, of one command in many, which key it uses (<see cref="HotKeys"/>).</summary>
/// <remarks>
/// Commands are counted by the window, not one by one, and looked at before they run, when their arguments are there
/// still. What a client may not do is not noted, and neither is what cannot be run; of a command of several keys one
/// is, by chance. OBJECT and MEMORY USAGE are no uses. What scripts call is not noted, but the keys that they are given
/// are. Threads: the window's.
/// </remarks>
internal sealed unsafe class KeySampler(KvServer server, StoreSession store) : IDisposable
{
    /// <summary>A longer call of a client whose user may not do everything is not noted: to check it once more takes
    /// too long.</summary>
    private const int CheckedArgumentsMax = 64;

    private readonly HotKeyTable _keys = server.HotKeys.Create();

    public void Dispose() => server.HotKeys.Remove(_keys);

    /// <inheritdoc cref="HotKeyTable.NextGap"/>
    // Also after what was no use of a key: whoever sends only PING is not looked at all the time.
    public int NextGap() => _keys.NextGap(server.HotKeys.NowMs);

    /// <summary>Notes the key of a command that has been parsed.</summary>
    /// <param name="args">Its name and arguments.</param>
    /// <param name="keyIndex">Of the argument that was hashed; 0 for none.</param>
    public void Sample(Session session, Command command, in CommandArguments args, int keyIndex, ulong hash,
        int database)
    {
        if (!session.Authenticated) return;
        if (command.Subcommands.Length > 0 && args.Count > 1)
            command = command.FindSubcommand(args[1].Span) ?? command;
        if (command.IsNoUse) return;
        if (command.Keys.Length == 0 || args.Count < command.ArgumentsMin || args.Count > command.ArgumentsMax) return;
        if (session.Restriction is { } rules
            && (args.Count > CheckedArgumentsMax || !rules.Check(command, args).IsAllowed)) return;
        int index = command.SoleKey, keys = 1;
        var spec = command.Keys[0];
        if (index == 0 && !TryChoose(command, args, out index, out spec, out keys)) return;
        Debug.Assert(index > 0 && index < args.Count && keys > 0, "a key is one of the arguments");
        var name = args[index];
        if (index != keyIndex) hash = store.HashKey(name.Pointer, name.Length);
        bool isWrite = (KeyFinder.Access(spec, args, 0) & KeyAccess.RO) == 0;
        _keys.Add(hash, database, name.Span, isWrite, keys, server.HotKeys.NowMs);
    }

    /// <summary>Chooses one of a command's keys by chance.</summary>
    /// <param name="index">Of the key among the arguments.</param>
    /// <param name="keys">How many there are.</param>
    /// <returns>False when there are none.</returns>
    private bool TryChoose(Command command, in CommandArguments args, out int index, out KeySpec chosen, out int keys)
    {
        index = keys = 0;
        chosen = command.Keys[0];
        foreach (var spec in command.Keys) keys += RangeOf(spec, args).Count;
        if (keys == 0) return false;
        int left = _keys.Below(keys);
        foreach (var spec in command.Keys)
        {
            var range = RangeOf(spec, args);
            if (left < range.Count)
            {
                index = range.First + (left * range.Step);
                chosen = spec;
                return true;
            }

            left -= range.Count;
        }

        return false;
    }

    private static KeyRange RangeOf(KeySpec spec, in CommandArguments args)
    {
        bool isKey = (spec.Access & KeyAccess.NotKey) == 0 && spec.Start != KeyStart.Unknown;
        return isKey && KeyFinder.Find(spec, args, from: 0, out var range) == KeySearch.Found ? range : default;
    }
}
