using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Finds the keys of queued commands by their rows, some at a time, and follows SELECT between them.</summary>
/// <param name="database">The number of the database in which the first command runs.</param>
internal unsafe struct QueuedKeys(KvServer server, int database)
{
    private int _command, _spec, _key;

    /// <summary>Adds keys, in the order of the commands.</summary>
    /// <param name="most">How many keys and commands to visit.</param>
    /// <param name="isDone">Whether all were added.</param>
    /// <returns>False when not all keys can be known.</returns>
    public bool TryAdd(CommandQueue commands, IKeySink sink, int most, out bool isDone)
    {
        Debug.Assert(most > 0, "each call gets on");
        Debug.Assert(_command <= commands.Count, "each command is looked at once");
        isDone = false;
        for (; _command < commands.Count; _command++, _spec = 0)
        {
            if (most-- <= 0) return true;
            ref readonly var queued = ref commands[_command];
            var command = queued.Command;
            var args = new CommandArguments(queued.Items, queued.Count, null!, 0, 0, 0, queued.Blocks);
            if (command.UnnamedKeysFrom > 0 && queued.Count >= command.UnnamedKeysFrom
                && command.UsesUnnamedKeys?.Invoke(args) != false) return false;
            if (command.Name == "SELECT" && NumberText.TryParseInt64(args[1].Span, out long chosen))
            {
                // SELECT makes the same test: a number that it refuses changes nothing.
                if ((ulong)chosen < (ulong)server.Options.Databases) database = (int)chosen;
            }

            for (; _spec < command.Keys.Length; _spec++, _key = 0)
            {
                var spec = command.Keys[_spec];
                if ((spec.Access & KeyAccess.NotKey) != 0) continue;
                if (spec.Start == KeyStart.Unknown && command.UnnamedKeysFrom == 0) return false;
                var search = KeyFinder.Find(spec, args, 0, out var range);
                // The command will refuse its arguments; what it does before is unknown.
                if (search == KeySearch.Invalid) return false;
                if (search != KeySearch.Found) continue;
                int end = (int)Math.Min(range.Count, _key + Math.Max(1L, most));
                most -= end - _key;
                for (; _key < end; _key++)
                {
                    var key = args[range.First + (_key * range.Step)];
                    sink.Add(key.Pointer, key.Length, database);
                }

                if (_key < range.Count) return true;
            }
        }

        isDone = true;
        return true;
    }
}
