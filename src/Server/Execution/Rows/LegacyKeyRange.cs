namespace Kv.Server.Execution;

/// <summary>First key, last key and step, as COMMAND had them before there were key specs, and whether there are more
/// keys to find.</summary>
/// <param name="First">Index of the first key; 0 when there is none.</param>
/// <param name="Last">Index of the last key, from the end when negative.</param>
/// <param name="Step">Distance from key to key.</param>
/// <param name="Movable">Whether some keys have to be looked for, as COMMAND GETKEYS does: the flag
/// movablekeys.</param>
internal readonly record struct LegacyKeyRange(int First, int Last, int Step, bool Movable)
{
    public static LegacyKeyRange Of(KeySpec[] specs)
    {
        if (specs.Length == 0) return default;
        if (specs is [{ Start: KeyStart.Position, Extent: KeyExtent.Range } only])
        {
            return new(only.Position, LastOf(only), only.Step, IsIncomplete(only));
        }

        // Several specs are one range if each begins right after the one before and has no step.
        int first = 0, last = 0;
        bool movable = false;
        foreach (var spec in specs)
        {
            bool follows = first == 0 || last == spec.Position - 1;
            movable |= IsIncomplete(spec);
            if (spec is not { Start: KeyStart.Position, Extent: KeyExtent.Range, Step: 1 } || !follows)
            {
                movable = true;
                continue;
            }

            if (first == 0) first = spec.Position;
            last = LastOf(spec);
        }

        return new(first, last, first == 0 ? 0 : 1, movable);
    }

    private static int LastOf(KeySpec spec) => spec.Last < 0 ? spec.Last : spec.Position + spec.Last;

    private static bool IsIncomplete(KeySpec spec) => (spec.Access & KeyAccess.Incomplete) != 0;
}
