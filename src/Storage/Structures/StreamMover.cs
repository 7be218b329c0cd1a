using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Moves what a stream consists of out of pages that are to be emptied: leaves, and the nodes of all of its
/// trees.</summary>
/// <remarks>Records of groups and consumers stay where they are: they are few, and what is pending leads to
/// them.</remarks>
internal readonly unsafe struct StreamMover(LargeStream stream)
{
    private const ulong Leaves = 0, Index = 1, FirstGroup = 2;

    /// <summary>Moves some.</summary>
    /// <param name="walk">Where it goes on, zeros at first: an id 16, leaves, index or which group 8, which of its
    /// trees 8.</param>
    /// <param name="most">At most this many pieces.</param>
    /// <param name="isDone">Whether that was the last.</param>
    /// <returns>False when the mover has not enough reserved.</returns>
    public bool Move(ref PieceMover mover, ulong* walk, int most, out bool isDone)
    {
        Debug.Assert(most > 0, "each call moves something");
        ref StreamId next = ref *(StreamId*)walk;
        ref ulong stage = ref walk[2], tree = ref walk[3];
        isDone = false;
        // Ends: each round moves pieces, or goes on to what comes next.
        for (; most > 0 && !isDone; most--)
        {
            bool isBehind;
            if (stage == Leaves)
            {
                IdTree.GiveSpare(stream.Region, most);
                if (!stream.MoveLeaves(ref mover, ref next, ref most, out isBehind)) return false;
            }
            else if (stage == Index)
            {
                if (!stream.Index.MoveNodes(ref mover, ref next, ref most, out isBehind)) return false;
            }
            else if (stage - FirstGroup >= (ulong)stream.Groups.Count)
            {
                isDone = true;
                break;
            }
            else
            {
                var group = new StreamGroup(stream.Region, stream.Groups[(int)(stage - FirstGroup)]);
                IdTree pending = tree == 0 || tree > (ulong)group.Consumers.Count
                    ? group.Pending : group.ConsumerAt((int)tree - 1).Pending;
                if (!pending.MoveNodes(ref mover, ref next, ref most, out isBehind)) return false;
                // A group's own tree comes first, then those of its consumers.
                if (isBehind && tree++ < (ulong)group.Consumers.Count)
                {
                    next = StreamId.Zero;
                    continue;
                }
            }

            if (isBehind) (next, stage, tree) = (StreamId.Zero, stage + 1, 0);
        }

        return true;
    }
}
